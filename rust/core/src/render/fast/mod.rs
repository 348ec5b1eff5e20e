//! The fast renderer, which computes each kind of light in its own way.
//!
//! `far_ground` has the radiosity of the empty ground, and `near_ground` a radiance map of the ground around the
//! bodies; secondary rays from bodies (`shade`) look both up. Of the primary rays (`view`), `ground` shades the pixels
//! without bodies, `pixel` samples the others, `average` filters their noisy part, and `image` reconstructs the image.

mod average;
pub mod bodies;
pub mod far_ground;
pub mod ground;
pub mod image;
pub mod near_ground;
pub mod near_light;
pub mod pixel;
pub mod shade;
pub mod sobol;
mod view;

use super::stage::Stage;
use super::stop::Stop;
use bodies::Bodies;
use far_ground::Patches;
use ground::GroundEffort;
use image::ImageEffort;
use near_ground::NearGround;
use near_light::NearEffort;
use pixel::PixelEffort;
use shade::LitStage;

/// Sampling effort of an image.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub near: NearEffort,
    pub image: ImageEffort,
}

impl Effort {
    pub const DRAFT: Self = Self {
        near: NearEffort { side: 64, rays: 4, shadow_rays: 1 },
        image: ImageEffort {
            ground: GroundEffort { corner_rays: 2, shadow_rays: [1, 1], difference: 0.1 },
            pixels: PixelEffort { outline: [2, 0], metal: [1, 0], matte: [1, 0], difference: 0.2 },
        },
    };
    pub const STANDARD: Self = Self {
        near: NearEffort { side: 96, rays: 16, shadow_rays: 4 },
        image: ImageEffort {
            ground: GroundEffort { corner_rays: 16, shadow_rays: [4, 8], difference: 0.1 },
            pixels: PixelEffort { outline: [4, 0], metal: [2, 16], matte: [2, 0], difference: 1.0 },
        },
    };
    pub const HIGH: Self = Self {
        near: NearEffort { side: 128, rays: 32, shadow_rays: 8 },
        image: ImageEffort {
            ground: GroundEffort { corner_rays: 64, shadow_rays: [8, 64], difference: 0.02 },
            pixels: PixelEffort { outline: [4, 16], metal: [4, 16], matte: [4, 0], difference: 0.5 },
        },
    };
}

/// The image as RGB bytes, rows from the top; None if it was stopped.
pub fn render(stage: &Stage<'_>, patches: &Patches, effort: Effort, stop: &Stop) -> Option<Vec<u8>> {
    // All within the thread pool: each parallel step started from outside would wake it again.
    rayon::scope(|_| image::image(&lit_stage(stage, patches, effort), &stage.camera, effort.image, stop))
}

/// The stage with the light on its ground computed.
fn lit_stage<'a>(stage: &'a Stage<'_>, patches: &Patches, effort: Effort) -> LitStage<'a> {
    let bodies = Bodies::new(stage);
    let light_occluders = (0..bodies.list.len()).map(|index| bodies.light_occluders(index, &stage.lights)).collect();
    let mut lit = LitStage {
        bodies,
        light_occluders,
        sheet: stage.ground,
        lights: &stage.lights,
        background: stage.background,
        far: patches.lit(stage),
        near: NearGround::default(),
        blur_glossy: stage.blur_glossy,
    };
    let lens = stage.camera.lens;
    effort.near.for_side(lens.width_px.max(lens.height_px) as usize).light(&mut lit);
    lit
}

#[cfg(test)]
mod tests {
    use super::sobol::SobolSample;
    use super::*;
    use crate::machine::without_avx2;
    use crate::render::test_scenes::{placements, studio};

    #[test]
    fn images_are_the_same_with_and_without_avx2() {
        let studio = studio();
        let patches = Patches::new(studio.ground());
        for placement in &placements()[..4] {
            let stage = studio.stage(placement, 150, 100).unwrap();
            for effort in [Effort::DRAFT, Effort::STANDARD, Effort::HIGH] {
                let wide = render(&stage, &patches, effort, &Stop::default()).unwrap();
                let plain = without_avx2(|| render(&stage, &patches, effort, &Stop::default())).unwrap();
                assert_eq!(wide, plain);
            }
        }
    }

    #[test]
    fn the_occluder_map_misses_no_occluder() {
        let studio = studio();
        let patches = Patches::new(studio.ground());
        let (mut n_hidden, mut n_left_out) = (0, 0);
        for placement in &placements()[..4] {
            let stage = studio.stage(placement, 150, 100).unwrap();
            let lit = lit_stage(&stage, &patches, Effort::DRAFT);
            let all = u64::MAX >> (64 - lit.bodies.list.len());
            for i in 0..4_000 {
                let sobol = SobolSample::new(i, 1, 0, 1);
                let [x, y] = sobol.pair(0).map(|u| 9.0 * u - 4.5);
                let (point, normal) = lit.ground_at(x, y);
                let origin = point + normal * shade::OFFSET;
                for (light, lamp) in lit.lights.iter().enumerate() {
                    let Some(occluders) = lit.near.occluders(x, y, light) else { continue };
                    for ray in 0..8 {
                        let Some(sample) = lamp.sample(origin, sobol.pair(1 + ray)) else { continue };
                        let is_hidden = |bodies: u64| {
                            lit.bodies.blocked_by(bodies, origin, sample.direction, sample.distance, true)
                        };
                        n_hidden += u32::from(is_hidden(all));
                        n_left_out += (all & !occluders).count_ones();
                        assert_eq!(is_hidden(all), is_hidden(occluders), "{point:?}, light {light}");
                    }
                }
            }
        }
        assert!(n_hidden > 1_000 && n_left_out > 100_000, "{n_hidden} {n_left_out}");
    }
}
