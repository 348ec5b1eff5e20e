//! The fast renderer: each kind of light is found in its own way.
//!
//! `far_ground` is the empty ground, `near_ground` a map of the ground around the bodies, which rays that leave
//! bodies see (`shade`). Of what the camera sees (`view`), `ground` finds pixels without bodies,
//! `pixel` samples the others, `average` smooths what is noisy in them, and `image` joins all.

mod average;
pub mod bodies;
pub mod far_ground;
pub mod ground;
pub mod image;
pub mod near_ground;
pub mod near_light;
pub mod numbers;
pub mod pixel;
pub mod shade;
mod view;

use super::stage::Stage;
use bodies::Bodies;
use far_ground::Patches;
use ground::GroundEffort;
use image::ImageEffort;
use near_ground::Near;
use near_light::NearEffort;
use pixel::PixelEffort;
use shade::LitStage;

/// How much is spent on an image.
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

/// An image as bytes, rows from the top, RGB.
pub fn render(stage: &Stage<'_>, patches: &Patches, effort: Effort) -> Vec<u8> {
    // Within the pool from beginning to end: each parallel step that is begun outside it wakes it anew.
    rayon::scope(|_| image::image(&lit_stage(stage, patches, effort), &stage.camera, effort.image))
}

/// A stage with the light on its ground.
fn lit_stage<'a>(stage: &'a Stage<'_>, patches: &Patches, effort: Effort) -> LitStage<'a> {
    let bodies = Bodies::new(stage);
    let between = (0..bodies.list.len()).map(|number| bodies.between(number, &stage.lights)).collect();
    let mut lit = LitStage {
        bodies,
        between,
        sheet: stage.ground,
        lights: &stage.lights,
        background: stage.background,
        far: patches.lit(stage),
        near: Near::default(),
        blur_glossy: stage.blur_glossy,
    };
    let lens = stage.camera.lens;
    effort.near.for_side(lens.width_px.max(lens.height_px) as usize).light(&mut lit);
    lit
}

#[cfg(test)]
mod tests {
    use super::numbers::Numbers;
    use super::*;
    use crate::render::lanes::IS_PLAIN;
    use crate::render::stage::{Placement, Studio};
    use std::sync::atomic::Ordering;

    #[test]
    fn images_are_the_same_with_and_without_avx2() {
        let look = include_bytes!("../../../../../blender_assets/look.json");
        let placements: Vec<Placement> =
            serde_json::from_slice(include_bytes!("../../../benches/placements.json")).unwrap();
        let studio = Studio::from_json(look, "look.json").unwrap();
        let patches = Patches::new(studio.ground());
        for placement in &placements[..4] {
            let stage = studio.stage(placement, 150, 100).unwrap();
            for effort in [Effort::DRAFT, Effort::STANDARD, Effort::HIGH] {
                let wide = render(&stage, &patches, effort);
                IS_PLAIN.store(true, Ordering::Relaxed);
                let plain = render(&stage, &patches, effort);
                IS_PLAIN.store(false, Ordering::Relaxed);
                assert_eq!(wide, plain);
            }
        }
    }

    #[test]
    fn a_body_that_hides_a_light_is_among_those_that_may() {
        let look = include_bytes!("../../../../../blender_assets/look.json");
        let placements: Vec<Placement> =
            serde_json::from_slice(include_bytes!("../../../benches/placements.json")).unwrap();
        let studio = Studio::from_json(look, "look.json").unwrap();
        let patches = Patches::new(studio.ground());
        let (mut n_hidden, mut n_left_out) = (0, 0);
        for placement in &placements[..4] {
            let stage = studio.stage(placement, 150, 100).unwrap();
            let lit = lit_stage(&stage, &patches, Effort::DRAFT);
            let all = u64::MAX >> (64 - lit.bodies.list.len());
            for i in 0..4_000 {
                let numbers = Numbers::new(i, 1, 0, 1);
                let [x, y] = numbers.pair(0).map(|u| 9.0 * u - 4.5);
                let (point, normal) = lit.ground_at(x, y);
                let origin = point + normal * shade::OFFSET;
                for (light, lamp) in lit.lights.iter().enumerate() {
                    let Some(suspects) = lit.near.hiders(x, y, light) else { continue };
                    for ray in 0..8 {
                        let Some(sample) = lamp.sample(origin, numbers.pair(1 + ray)) else { continue };
                        let is_hidden = |bodies: u64| {
                            lit.bodies.blocked_by(bodies, origin, sample.direction, sample.distance, true)
                        };
                        n_hidden += u32::from(is_hidden(all));
                        n_left_out += (all & !suspects).count_ones();
                        assert_eq!(is_hidden(all), is_hidden(suspects), "{point:?}, light {light}");
                    }
                }
            }
        }
        assert!(n_hidden > 1_000 && n_left_out > 100_000, "{n_hidden} {n_left_out}");
    }
}
