//! What was rejected while scenes were sampled.

use std::fmt;

/// How often each constraint turned something down while scenes were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rejections {
    /// Positions too near to another object.
    pub distance: u64,
    /// Positions nearly level with another object.
    pub margin: u64,
    /// Scenes with an object that found no position in its number of tries.
    pub placement: u64,
    /// Scenes with an object that too little is seen of.
    pub visibility: u64,
}

impl Rejections {
    /// Scenes that started again.
    pub fn restarts(&self) -> u64 {
        self.placement + self.visibility
    }
}

impl fmt::Display for Rejections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} attempts failed ({} because tries_per_object ran out, after min_distance rejected {} positions and \
             margin {}; {} because of min_pixels)",
            self.restarts(),
            self.placement,
            self.distance,
            self.margin,
            self.visibility
        )
    }
}
