//! What was rejected while scenes were sampled.

use std::fmt;

/// How often each constraint rejected something while scenes were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rejections {
    /// Positions too near to another object.
    pub distance: u64,
    /// Positions nearly level with another object.
    pub margin: u64,
    /// Scenes in which an object found no position in its number of tries.
    pub placement: u64,
    /// Scenes in which too little of an object is seen.
    pub visibility: u64,
}

impl Rejections {
    /// Number of times that a scene was restarted.
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
