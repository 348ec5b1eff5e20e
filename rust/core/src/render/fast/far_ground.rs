//! How bright the empty ground sheet is everywhere under a scene's lights.
//!
//! The sheet is cut into patches once; how much of the light that one throws reaches another does
//! not depend on the scene. An image then needs their direct light and a few products with that
//! matrix (radiosity).

use crate::render::light::Light;
use crate::render::sheet::Sheet;
use crate::render::stage::Stage;
use crate::render::vector::V3;
use std::f32::consts::{FRAC_1_PI, PI};

/// Longest side of a patch along the profile, and strips along y.
const PATCH_LENGTH: f32 = 2.0;
const STRIPS: usize = 16;
const BOUNCES: usize = 3;
/// Points of the table in one unit of length.
const PER_UNIT: f32 = 2.0;

/// Patches of the sheet and what passes between them.
#[derive(Clone, Debug)]
pub struct Patches {
    /// Local x of the patches' middles, ascending.
    x: Vec<f32>,
    y: [f32; STRIPS],
    middles: Vec<V3>,
    normals: Vec<V3>,
    /// Row by row: the share of its hemisphere in which each patch sees each other one.
    factors: Vec<f32>,
    /// The share of its hemisphere in which each patch sees no other.
    open: Vec<f32>,
}

/// Radiance of the empty sheet, and how much light reaches it by way of itself.
#[derive(Clone, Debug)]
pub struct Far {
    start: [f32; 2],
    columns: usize,
    rows: usize,
    radiance: Vec<V3>,
    indirect: Vec<V3>,
    /// See `Far::share`; empty for an even sheet.
    share: Vec<V3>,
}

impl Patches {
    pub fn new(sheet: &Sheet) -> Self {
        let [x0, x1] = sheet.local_x;
        let [y0, y1] = sheet.local_y;
        // Cut evenly along the profile's length.
        let mut x = Vec::new();
        let mut lengths = Vec::new();
        let step = 0.01;
        let (mut length, mut begin, mut at) = (0.0, x0, x0);
        while at < x1 {
            let (here, next) = (sheet.at(at).0, sheet.at(at + step).0);
            length += (step * step + (next - here) * (next - here)).sqrt();
            at += step;
            if length >= PATCH_LENGTH || at >= x1 {
                x.push(0.5 * (begin + at.min(x1)));
                lengths.push(length);
                (length, begin) = (0.0, at);
            }
        }
        let width = (y1 - y0) / STRIPS as f32;
        let y: [f32; STRIPS] = std::array::from_fn(|strip| y0 + (strip as f32 + 0.5) * width);
        let (mut middles, mut normals, mut areas) = (Vec::new(), Vec::new(), Vec::new());
        for (&x, &length) in x.iter().zip(&lengths) {
            let (z, normal) = sheet.at(x);
            for &y in &y {
                middles.push(sheet.to_world(V3 { x, y, z }));
                normals.push(normal);
                areas.push(length * width);
            }
        }
        let n = middles.len();
        let mut factors = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let offset = middles[j] - middles[i];
                let distance2 = offset.dot(offset);
                let (here, there) = (normals[i].dot(offset), -normals[j].dot(offset));
                if here > 1e-4 && there > 1e-4 {
                    // As a disc of the same area, which stays below 1 nearby.
                    let area = areas[j];
                    factors[i * n + j] = here * there * area / (distance2 * (PI * distance2 + area));
                }
            }
        }
        let open = factors.chunks(n).map(|row| (1.0 - row.iter().sum::<f32>()).max(0.0)).collect();
        Self { x, y, middles, normals, factors, open }
    }

    /// The sheet under a stage's lights and background.
    pub fn lit(&self, stage: &Stage<'_>) -> Far {
        let (sheet, lights, background) = (stage.ground, &stage.lights[..], stage.background);
        let places = self.middles.iter().zip(&self.normals);
        let direct: Vec<V3> = places.map(|(&p, &n)| unshadowed(sheet, lights, p, n)).collect();
        let n = direct.len();
        let mut indirect = vec![V3::ZERO; n];
        for _ in 0..BOUNCES {
            let thrown: Vec<V3> = direct.iter().zip(&indirect).map(|(&d, &i)| (d + i).times(sheet.color)).collect();
            for ((row, factors), open) in indirect.iter_mut().zip(self.factors.chunks(n)).zip(&self.open) {
                let mut sums = [V3::ZERO; 4];
                for (factors, thrown) in factors.chunks(4).zip(thrown.chunks(4)) {
                    for (sum, (&factor, &light)) in sums.iter_mut().zip(factors.iter().zip(thrown)) {
                        *sum += light * factor;
                    }
                }
                *row = sums[0] + sums[1] + sums[2] + sums[3] + background * (PI * open);
            }
        }
        let shares = if sheet.is_rough() { self.shares(stage, &direct, &indirect) } else { Vec::new() };
        let [x0, x1] = sheet.local_x;
        let [y0, y1] = sheet.local_y;
        let columns = ((x1 - x0) * PER_UNIT) as usize + 2;
        let rows = ((y1 - y0) * PER_UNIT) as usize + 2;
        let mut far = Far {
            start: [x0, y0],
            columns,
            rows,
            radiance: Vec::with_capacity(columns * rows),
            indirect: Vec::with_capacity(columns * rows),
            share: Vec::new(),
        };
        for column in 0..columns {
            let x = (x0 + column as f32 / PER_UNIT).min(x1 - 1e-3);
            let (z, normal) = sheet.at(x);
            let after = self.x.partition_point(|&middle| middle <= x).clamp(1, self.x.len() - 1);
            let share = ((x - self.x[after - 1]) / (self.x[after] - self.x[after - 1])).clamp(0.0, 1.0);
            for row in 0..rows {
                let y = (y0 + row as f32 / PER_UNIT).min(y1);
                let place = ((y - self.y[0]) / (self.y[1] - self.y[0])).clamp(0.0, (STRIPS - 1) as f32 - 1e-3);
                let (strip, part) = (place as usize, place.fract());
                let of = |table: &[V3]| {
                    let at = |x: usize| {
                        let row = &table[x * STRIPS + strip..];
                        row[0] * (1.0 - part) + row[1] * part
                    };
                    at(after - 1) * (1.0 - share) + at(after) * share
                };
                let own = of(&indirect);
                let point = sheet.to_world(V3 { x, y, z });
                let light = unshadowed(sheet, lights, point, normal) + own;
                far.radiance.push(light.times(sheet.color) * FRAC_1_PI);
                far.indirect.push(own);
                if !shares.is_empty() {
                    far.share.push(of(&shares));
                }
            }
        }
        far
    }

    /// What each patch throws towards the camera of the light that reaches it by way of others and of the background,
    /// as a multiple of what it throws there evenly.
    fn shares(&self, stage: &Stage<'_>, direct: &[V3], indirect: &[V3]) -> Vec<V3> {
        let sheet = stage.ground;
        let eye = V3::from_f64(stage.camera.location);
        let thrown: Vec<V3> = direct.iter().zip(indirect).map(|(&d, &i)| (d + i).times(sheet.color)).collect();
        let places = self.middles.iter().zip(&self.normals).zip(self.factors.chunks(thrown.len()).zip(&self.open));
        let share = |((&point, &normal), (factors, &open)): ((&V3, &V3), (&[f32], &f32))| {
            let v = (eye - point).unit();
            let (mut all, mut toward) = (stage.background * (PI * open), V3::ZERO);
            // The background's is what an even sky would give, but for the directions in which other patches are.
            let mut sky = sheet.even_share(normal, v);
            for ((&factor, &thrown), &middle) in factors.iter().zip(&thrown).zip(&self.middles) {
                if factor > 0.0 {
                    all += thrown * factor;
                    let share = sheet.share(normal, v, (middle - point).unit()) * factor;
                    toward += thrown.times(share);
                    sky = sky - share;
                }
            }
            toward += V3 { x: sky.x.max(0.0), y: sky.y.max(0.0), z: sky.z.max(0.0) }.times(stage.background) * PI;
            let ratio = |toward: f32, all: f32| if all > 0.0 { toward / all } else { 1.0 };
            V3 { x: ratio(toward.x, all.x), y: ratio(toward.y, all.y), z: ratio(toward.z, all.z) }
        };
        places.map(share).collect()
    }
}

impl Far {
    /// Radiance of a place of the sheet, by local x and y.
    #[inline(always)]
    pub fn radiance(&self, local: V3) -> V3 {
        self.blend(&self.radiance, local)
    }

    /// Light that reaches a place of the sheet by way of the sheet (irradiance).
    #[inline(always)]
    pub fn indirect(&self, local: V3) -> V3 {
        self.blend(&self.indirect, local)
    }

    /// What a place of the sheet throws towards the camera of this indirect light, as a multiple of what it throws there
    /// evenly.
    #[inline(always)]
    pub fn share(&self, local: V3) -> V3 {
        if self.share.is_empty() { V3::ONE } else { self.blend(&self.share, local) }
    }

    #[inline(always)]
    fn blend(&self, table: &[V3], local: V3) -> V3 {
        let x = ((local.x - self.start[0]) * PER_UNIT).clamp(0.0, self.columns as f32 - 1.001);
        let y = ((local.y - self.start[1]) * PER_UNIT).clamp(0.0, self.rows as f32 - 1.001);
        let (column, row) = (x as usize, y as usize);
        let (u, v) = (x - column as f32, y - row as f32);
        let first = column * self.rows + row;
        let second = first + self.rows;
        (table[first] * (1.0 - v) + table[first + 1] * v) * (1.0 - u)
            + (table[second] * (1.0 - v) + table[second + 1] * v) * u
    }
}

/// Light that reaches a place of the sheet directly where no body stands in the way (irradiance).
#[inline]
fn unshadowed(sheet: &Sheet, lights: &[Light], point: V3, normal: V3) -> V3 {
    lights.iter().map(|light| light.irradiance(point, normal) * light.above(sheet, point)).sum()
}
