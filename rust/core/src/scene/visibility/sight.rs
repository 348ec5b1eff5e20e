//! What is seen of one body.

/// What is seen of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sight {
    /// Pixels in which it is nearest.
    pub visible_px: u32,
    /// Pixels of the image that it would have if it stood alone on the ground.
    pub total_px: u32,
    /// Tight box of the visible pixels: x and y of the first, x and y one past the last. All 0 if there are none.
    pub bbox: [u16; 4],
}
