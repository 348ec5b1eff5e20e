//! The processor features that the engine uses.

use pulp::Arch;

/// The vector instructions that the renderer uses beyond those that its build requires: "AVX2" or "none".
pub fn vector_instructions() -> &'static str {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "AVX2",
        _ => "none",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn it_is_avx2_where_the_processor_has_that() {
        let expected = if std::arch::is_x86_feature_detected!("avx2") { "AVX2" } else { "none" };
        assert_eq!(super::vector_instructions(), expected);
    }
}
