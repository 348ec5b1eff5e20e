//! The processor features that the engine uses.

use pulp::Arch;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set to "none", this environment variable makes the renderer do without AVX2, as on a processor that lacks it.
const VARIABLE: &str = "CLEVRHOPE_SIMD";

static WITHOUT_AVX2: LazyLock<AtomicBool> =
    LazyLock::new(|| AtomicBool::new(std::env::var_os(VARIABLE).is_some_and(|level| level == "none")));

/// The widest vector instructions that the renderer may use.
#[inline]
pub fn arch() -> Arch {
    widest(WITHOUT_AVX2.load(Ordering::Relaxed))
}

fn widest(without_avx2: bool) -> Arch {
    if without_avx2 { Arch::Scalar } else { Arch::new() }
}

/// The vector instructions that the renderer uses beyond those that its build requires: "AVX2" or "none".
pub fn vector_instructions() -> &'static str {
    name(arch())
}

fn name(arch: Arch) -> &'static str {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "AVX2",
        _ => "none",
    }
}

/// Does some work without AVX2. Other tests may run meanwhile.
#[cfg(test)]
pub fn without_avx2<T>(work: impl FnOnce() -> T) -> T {
    let before = WITHOUT_AVX2.swap(true, Ordering::Relaxed);
    let made = work();
    WITHOUT_AVX2.store(before, Ordering::Relaxed);
    made
}

#[cfg(test)]
mod tests {
    use super::{name, widest};

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn avx2_is_used_where_the_processor_has_it_and_nobody_forbids_it() {
        let expected = if std::arch::is_x86_feature_detected!("avx2") { "AVX2" } else { "none" };
        assert_eq!(name(widest(false)), expected);
        assert_eq!(name(widest(true)), "none");
    }
}
