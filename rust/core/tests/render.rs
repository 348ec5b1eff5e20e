//! Compares the native renderer's parts with plain sums, and its images with plain path tracing.

use clevrhope_core::render::fast::{self, Effort, far_ground::Patches};
use clevrhope_core::render::material::{Distribution, Kind, Lobe, Lobes};
use clevrhope_core::render::passes::{NOBODY, passes};
use clevrhope_core::render::reference::path_trace;
use clevrhope_core::render::stage::{Placement, Studio};
use clevrhope_core::render::stop::Stop;
use clevrhope_core::render::vector::{V3, v3};
use clevrhope_core::rng::{StreamKey, StreamRng};

const LOOK: &[u8] = include_bytes!("../../../blender_assets/look.json");

const SCENE: &[u8] = br#"{
    "camera": [7.48113, -6.50764, 5.34367],
    "lights": {},
    "things": [
        {"shape": "sphere", "material": "metal", "color": [0.2, 0.3, 0.8], "radius": 0.7,
         "location": [1.2, 0.6, 0.7], "rotation_z_rad": 1.0},
        {"shape": "cube", "material": "rubber", "color": [0.7, 0.1, 0.1], "radius": 0.7,
         "location": [-1.4, 0.3, 0.7], "rotation_z_rad": 0.4},
        {"shape": "cylinder", "material": "metal", "color": [1.0, 0.9, 0.2], "radius": 0.35,
         "location": [0.4, -1.6, 0.35], "rotation_z_rad": 2.0},
        {"shape": "cylinder", "material": "rubber", "color": [0.1, 0.4, 0.1], "radius": 0.7,
         "location": [0.1, 2.6, 0.7], "rotation_z_rad": 0.0}
    ]
}"#;

fn uniform(rng: &mut StreamRng) -> [f32; 2] {
    [rng.unit() as f32, rng.unit() as f32]
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    10.0 * libm::log10(255.0_f64.powi(2) * a.len() as f64 / sum)
}

/// A lobe reflects the same light of a uniform sky by its own sampling as by uniform sampling of the hemisphere.
#[test]
fn lobes_are_sampled_as_densely_as_they_say() {
    let n = v3(0.0, 0.0, 1.0);
    let (x, y) = (v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0));
    let glossy = |distribution, alpha_x, alpha_y| Kind::Glossy { distribution, alpha_x, alpha_y, x, y };
    let kinds = [
        Kind::Diffuse,
        Kind::Sheen { sigma: 0.6 },
        glossy(Distribution::Beckmann, 0.35, 0.35),
        glossy(Distribution::Ggx, 0.15, 0.267),
        glossy(Distribution::Ggx, 0.45, 0.45),
    ];
    let mut rng = StreamKey::new(&[b"lobes"]).at(0);
    for kind in kinds {
        let mut lobes = Lobes::default();
        lobes.push(Lobe { weight: V3::ONE, kind });
        for cos_v in [0.95_f32, 0.6, 0.3] {
            let v = v3((1.0 - cos_v * cos_v).sqrt(), 0.0, cos_v);
            let count = 200_000;
            let (mut own, mut even) = (0.0_f64, 0.0_f64);
            for _ in 0..count {
                let l = lobes[0].sample(n, v, uniform(&mut rng));
                let (value, density) = lobes.evaluate_sampled(n, v, l);
                if density > 0.0 {
                    own += f64::from(value.x / density);
                }
                let [z, turn] = uniform(&mut rng);
                let (sin, cos) = libm::sincosf(std::f32::consts::TAU * turn);
                let r = (1.0 - z * z).sqrt();
                even += f64::from(lobes.evaluate(n, v, v3(r * cos, r * sin, z)).0.x * std::f32::consts::TAU);
            }
            let (own, even) = (own / f64::from(count), even / f64::from(count));
            assert!((own / even - 1.0).abs() < 0.03, "{kind:?} at {cos_v}: {own} by itself, {even} evenly");
            assert!(own < 1.05, "{kind:?} at {cos_v} gives more than it gets: {own}");
        }
    }
}

/// A ray hits the sheet at its first crossing, which small steps also find.
#[test]
fn rays_meet_the_sheet_where_they_first_cross_it() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let sheet = studio.ground();
    let mut rng = StreamKey::new(&[b"sheet"]).at(0);
    let mut met = 0;
    for number in 0..800 {
        let mut between = |[low, high]: [f32; 2]| rng.uniform(f64::from(low), f64::from(high)) as f32;
        let origin = if number % 2 == 0 {
            v3(between([-6.0, 8.0]), between([-8.0, 6.0]), between([0.3, 6.0]))
        } else {
            // The origin is just above any place of the sheet, including the steep ones, from which light reaches the
            // level ones.
            let (x, y) = (between(sheet.local_x), between(sheet.local_y));
            sheet.to_world(v3(x, y, sheet.at(x).0)) + sheet.at(x).1 * 0.05
        };
        let direction = v3(between([-1.0, 1.0]), between([-1.0, 1.0]), between([-1.0, 0.3])).unit();
        let below = |t: f32| {
            let local = sheet.to_local(origin + direction * t);
            local.z < sheet.at(local.x).0
        };
        if below(0.0) {
            continue;
        }
        let step = 0.01_f32;
        let crossed = (1..6000).map(|i| i as f32 * step).find(|&t| below(t));
        let hit = sheet.hit(origin, direction);
        if let Some((t, normal)) = hit {
            let crossed = crossed.unwrap_or(t);
            assert!((t - crossed).abs() < 0.02, "{origin:?} {direction:?}: {t}, by steps {crossed}");
            assert!(normal.dot(direction) < 0.0 && (normal.length() - 1.0).abs() < 1e-4);
            met += 1;
        } else if let Some(t) = crossed {
            // The sheet is finite: a crossing beyond its ends is not a hit.
            let local = sheet.to_local(origin + direction * t);
            let inside = |x: f32, [low, high]: [f32; 2]| x > low + 0.1 && x < high - 0.1;
            assert!(!(inside(local.x, sheet.local_x) && inside(local.y, sheet.local_y)), "missed at {local:?}");
        }
    }
    assert!(met > 400, "{met}");
}

#[test]
fn the_fast_renderer_comes_close_to_plain_paths() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let placement: Placement = serde_json::from_slice(SCENE).unwrap();
    let stage = studio.stage(&placement, 96, 64).unwrap();
    let plain = path_trace(&stage, 256, &Stop::default()).unwrap();
    let patches = Patches::new(studio.ground());
    let [draft, high] = [Effort::DRAFT, Effort::HIGH]
        .map(|effort| psnr(&fast::render(&stage, &patches, effort, &Stop::default()).unwrap(), &plain));
    assert!(draft > 33.0, "draft: {draft} dB");
    assert!(high > 38.0 && high > draft + 1.0, "high: {high} dB, draft: {draft} dB");
}

#[test]
fn another_order_of_objects_moves_nothing() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let mut placement: Placement = serde_json::from_slice(SCENE).unwrap();
    let patches = Patches::new(studio.ground());
    let render = |placement: &Placement| {
        let stage = studio.stage(placement, 96, 64).unwrap();
        fast::render(&stage, &patches, Effort::STANDARD, &Stop::default()).unwrap()
    };
    let first = render(&placement);
    placement.things.reverse();
    assert!(psnr(&first, &render(&placement)) > 45.0);
}

/// Compares each pixel of the passes with points of the shapes themselves.
#[test]
fn passes_say_what_rays_through_centres_meet() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let placement: Placement = serde_json::from_slice(SCENE).unwrap();
    let stage = studio.stage(&placement, 240, 160).unwrap();
    let found = passes(&stage, &Stop::default()).unwrap();
    let (camera, mut inside) = (&stage.camera, 0);
    for (pixel, &object) in found.mask.iter().enumerate() {
        let ray = camera.ray((pixel % 240) as f64 + 0.5, (pixel / 240) as f64 + 0.5);
        let at = |depth: f64| V3::from_f64(std::array::from_fn(|i| camera.location[i] + depth * ray[i]));
        let depth = f64::from(found.depth[pixel]);
        let normal = V3 { x: found.normal[pixel][0], y: found.normal[pixel][1], z: found.normal[pixel][2] };
        if object == NOBODY {
            assert_eq!(normal, V3::ZERO);
            assert!(stage.bodies.iter().all(|body| !body.contains(at(depth - 0.01))));
            continue;
        }
        inside += 1;
        assert!((normal.length() - 1.0).abs() < 1e-5 && normal.dot(V3::from_f64(ray)) < 0.1, "{pixel}: {normal:?}");
        // No object is in front of the surface, and this one is behind it, unless the ray only grazes it.
        assert!(stage.bodies.iter().all(|body| !body.contains(at(depth - 0.003))), "{pixel}");
        let body = &stage.bodies[object as usize];
        let grazes = normal.dot(V3::from_f64(ray)) > -0.2;
        assert!(grazes || body.contains(at(depth + 0.003)), "{pixel}");
    }
    assert!(inside > 3000, "{inside}");
    for (number, &alone) in found.alone_px.iter().enumerate() {
        let seen = found.mask.iter().filter(|&&object| usize::from(object) == number).count() as u32;
        let mut single = placement.clone();
        single.things = vec![placement.things[number].clone()];
        let by_itself = passes(&studio.stage(&single, 240, 160).unwrap(), &Stop::default()).unwrap();
        let count = by_itself.mask.iter().filter(|&&object| object == 0).count() as u32;
        assert_eq!(alone, count);
        assert!(seen <= alone);
    }
}
