//! A pinhole camera: where points fall in its image, and the rays through its pixels.

use super::geometry::{Vec3, cross, dot, normalize, sub};

/// The lens and the image that it fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Focal length in pixels: the sensor's width spans the longer side of the image.
    pub focal_px: f64,
    pub width_px: u32,
    pub height_px: u32,
    /// Nearest depth that is seen.
    pub near: f64,
}

impl Lens {
    pub fn new(lens_mm: f64, sensor_width_mm: f64, width_px: u32, height_px: u32, near: f64) -> Self {
        let focal_px = lens_mm / sensor_width_mm * f64::from(width_px.max(height_px));
        Self { focal_px, width_px, height_px, near }
    }
}

/// A pinhole camera that looks at a point with its image's up side towards +Z.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    pub location: Vec3,
    /// Unit vectors of the image's right and up, and of the view.
    pub right: Vec3,
    pub up: Vec3,
    pub forward: Vec3,
    pub lens: Lens,
}

/// Where a point falls: pixels right and down from the image's top left corner, and depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    pub u_px: f64,
    pub v_px: f64,
    /// Distance along the view.
    pub depth: f64,
}

impl Camera {
    /// A camera at `location` that looks at `target`, not straight up or down.
    pub fn looking_at(location: Vec3, target: Vec3, lens: Lens) -> Self {
        let forward = normalize(sub(target, location));
        let right = normalize(cross(forward, [0.0, 0.0, 1.0]));
        Self { location, right, up: cross(right, forward), forward, lens }
    }

    /// Where a point falls; meaningless for a depth of 0 or less.
    #[inline]
    pub fn project(&self, point: Vec3) -> Projected {
        let offset = sub(point, self.location);
        let depth = dot(offset, self.forward);
        let scale = self.lens.focal_px / depth;
        Projected {
            u_px: 0.5 * f64::from(self.lens.width_px) + dot(offset, self.right) * scale,
            v_px: 0.5 * f64::from(self.lens.height_px) - dot(offset, self.up) * scale,
            depth,
        }
    }

    /// The ray through a point in the image: a direction whose depth is 1.
    #[inline]
    pub fn ray(&self, u_px: f64, v_px: f64) -> Vec3 {
        let x = (u_px - 0.5 * f64::from(self.lens.width_px)) / self.lens.focal_px;
        let y = (0.5 * f64::from(self.lens.height_px) - v_px) / self.lens.focal_px;
        let axis = |i: usize| self.forward[i] + x * self.right[i] + y * self.up[i];
        [axis(0), axis(1), axis(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clevr() -> Camera {
        let lens = Lens::new(35.0, 32.0, 480, 320, 0.1);
        Camera::looking_at([7.48113, -6.50764, 5.34367], [0.0; 3], lens)
    }

    #[test]
    fn axes_are_those_of_clevrs_camera() {
        let camera = clevr();
        let columns = [
            (camera.right, [0.65631, 0.75449, 0.0]),
            (camera.up, [-0.35794, 0.31136, 0.8803]),
            (camera.forward, [-0.66418, 0.57775, -0.47441]),
        ];
        for (axis, expected) in columns {
            for i in 0..3 {
                assert!((axis[i] - expected[i]).abs() < 1e-5, "{axis:?} {expected:?}");
            }
        }
    }

    #[test]
    fn rays_go_where_points_fall() {
        let camera = clevr();
        let point = [1.2, -0.7, 0.35];
        let seen = camera.project(point);
        let ray = camera.ray(seen.u_px, seen.v_px);
        for i in 0..3 {
            assert!((camera.location[i] + seen.depth * ray[i] - point[i]).abs() < 1e-9);
        }
        let centre = camera.project([0.0; 3]);
        assert!((centre.u_px - 240.0).abs() < 1e-9 && (centre.v_px - 160.0).abs() < 1e-9);
    }
}
