//! Light on the empty ground sheet under a scene's lights, by radiosity.
//!
//! The sheet is cut into patches once, and their form factors do not depend on the scene. An image then needs the
//! patches' direct light and a few products with the matrix of form factors.

use crate::render::light::Light;
use crate::render::sheet::Sheet;
use crate::render::stage::Stage;
use crate::render::vector::V3;
use std::f32::consts::{FRAC_1_PI, PI};

/// Length of a patch along the profile, and number of strips along y.
const PATCH_LENGTH: f32 = 2.0;
const STRIPS: usize = 16;
const BOUNCES: usize = 3;
/// Points of the table per unit of length.
const PER_UNIT: f32 = 2.0;

/// Patches of the sheet and the form factors between them.
#[derive(Clone, Debug)]
pub struct Patches {
    /// Local x of the patches' centres, ascending.
    x: Vec<f32>,
    y: [f32; STRIPS],
    centers: Vec<V3>,
    normals: Vec<V3>,
    /// Row by row, the form factors from each patch to each other one.
    form_factors: Vec<f32>,
    /// Form factor from each patch to the background.
    sky_factors: Vec<f32>,
}

/// Radiance and indirect irradiance of the empty sheet.
#[derive(Clone, Debug)]
pub struct FarGround {
    start: [f32; 2],
    columns: usize,
    rows: usize,
    radiance: Vec<V3>,
    indirect: Vec<V3>,
    /// See `FarGround::lambert_ratio`; empty for a Lambertian sheet.
    lambert_ratios: Vec<V3>,
}

impl Patches {
    pub fn new(sheet: &Sheet) -> Self {
        let [x0, x1] = sheet.local_x;
        let [y0, y1] = sheet.local_y;
        // Patches of equal length along the profile.
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
        let (mut centers, mut normals, mut areas) = (Vec::new(), Vec::new(), Vec::new());
        for (&x, &length) in x.iter().zip(&lengths) {
            let (z, normal) = sheet.at(x);
            for &y in &y {
                centers.push(sheet.to_world(V3 { x, y, z }));
                normals.push(normal);
                areas.push(length * width);
            }
        }
        let n = centers.len();
        let mut form_factors = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let offset = centers[j] - centers[i];
                let distance2 = offset.dot(offset);
                let (here, there) = (normals[i].dot(offset), -normals[j].dot(offset));
                if here > 1e-4 && there > 1e-4 {
                    // The form factor of a disc of the same area, which stays below 1 nearby.
                    let area = areas[j];
                    form_factors[i * n + j] = here * there * area / (distance2 * (PI * distance2 + area));
                }
            }
        }
        let sky_factors = form_factors.chunks(n).map(|row| (1.0 - row.iter().sum::<f32>()).max(0.0)).collect();
        Self { x, y, centers, normals, form_factors, sky_factors }
    }

    /// The sheet lit by a stage's lights and background.
    pub fn lit(&self, stage: &Stage<'_>) -> FarGround {
        let (sheet, lights, background) = (stage.ground, &stage.lights[..], stage.background);
        let points = self.centers.iter().zip(&self.normals);
        let direct: Vec<V3> = points.map(|(&p, &n)| unoccluded(sheet, lights, p, n)).collect();
        let n = direct.len();
        let mut indirect = vec![V3::ZERO; n];
        for _ in 0..BOUNCES {
            let radiosity: Vec<V3> = direct.iter().zip(&indirect).map(|(&d, &i)| (d + i).times(sheet.color)).collect();
            for ((row, form_factors), sky_factor) in
                indirect.iter_mut().zip(self.form_factors.chunks(n)).zip(&self.sky_factors)
            {
                let mut sums = [V3::ZERO; 4];
                for (form_factors, radiosity) in form_factors.chunks(4).zip(radiosity.chunks(4)) {
                    for (sum, (&factor, &light)) in sums.iter_mut().zip(form_factors.iter().zip(radiosity)) {
                        *sum += light * factor;
                    }
                }
                *row = sums[0] + sums[1] + sums[2] + sums[3] + background * (PI * sky_factor);
            }
        }
        let lambert_ratios = if sheet.is_rough() { self.lambert_ratios(stage, &direct, &indirect) } else { Vec::new() };
        let [x0, x1] = sheet.local_x;
        let [y0, y1] = sheet.local_y;
        let columns = ((x1 - x0) * PER_UNIT) as usize + 2;
        let rows = ((y1 - y0) * PER_UNIT) as usize + 2;
        let mut far = FarGround {
            start: [x0, y0],
            columns,
            rows,
            radiance: Vec::with_capacity(columns * rows),
            indirect: Vec::with_capacity(columns * rows),
            lambert_ratios: Vec::new(),
        };
        for column in 0..columns {
            let x = (x0 + column as f32 / PER_UNIT).min(x1 - 1e-3);
            let (z, normal) = sheet.at(x);
            let after = self.x.partition_point(|&center| center <= x).clamp(1, self.x.len() - 1);
            let weight = ((x - self.x[after - 1]) / (self.x[after] - self.x[after - 1])).clamp(0.0, 1.0);
            for row in 0..rows {
                let y = (y0 + row as f32 / PER_UNIT).min(y1);
                let position = ((y - self.y[0]) / (self.y[1] - self.y[0])).clamp(0.0, (STRIPS - 1) as f32 - 1e-3);
                let (strip, part) = (position as usize, position.fract());
                let interpolate = |table: &[V3]| {
                    let at = |x: usize| {
                        let row = &table[x * STRIPS + strip..];
                        row[0] * (1.0 - part) + row[1] * part
                    };
                    at(after - 1) * (1.0 - weight) + at(after) * weight
                };
                let own = interpolate(&indirect);
                let point = sheet.to_world(V3 { x, y, z });
                let light = unoccluded(sheet, lights, point, normal) + own;
                far.radiance.push(light.times(sheet.color) * FRAC_1_PI);
                far.indirect.push(own);
                if !lambert_ratios.is_empty() {
                    far.lambert_ratios.push(interpolate(&lambert_ratios));
                }
            }
        }
        far
    }

    /// Each patch's reflection of its indirect light towards the camera, as a multiple of what a Lambertian patch of
    /// the same albedo reflects.
    fn lambert_ratios(&self, stage: &Stage<'_>, direct: &[V3], indirect: &[V3]) -> Vec<V3> {
        let sheet = stage.ground;
        let eye = V3::from_f64(stage.camera.location);
        let radiosity: Vec<V3> = direct.iter().zip(indirect).map(|(&d, &i)| (d + i).times(sheet.color)).collect();
        let points = self
            .centers
            .iter()
            .zip(&self.normals)
            .zip(self.form_factors.chunks(radiosity.len()).zip(&self.sky_factors));
        let lambert_ratio = |((&point, &normal), (form_factors, &sky_factor)): ((&V3, &V3), (&[f32], &f32))| {
            let v = (eye - point).unit();
            let (mut all, mut toward) = (stage.background * (PI * sky_factor), V3::ZERO);
            // The background counts as a uniform sky, less the directions in which other patches are.
            let mut sky = sheet.uniform_lambert_ratio(normal, v);
            for ((&factor, &radiosity), &center) in form_factors.iter().zip(&radiosity).zip(&self.centers) {
                if factor > 0.0 {
                    all += radiosity * factor;
                    let weight = sheet.lambert_ratio(normal, v, (center - point).unit()) * factor;
                    toward += radiosity.times(weight);
                    sky = sky - weight;
                }
            }
            toward += V3 { x: sky.x.max(0.0), y: sky.y.max(0.0), z: sky.z.max(0.0) }.times(stage.background) * PI;
            let ratio = |toward: f32, all: f32| if all > 0.0 { toward / all } else { 1.0 };
            V3 { x: ratio(toward.x, all.x), y: ratio(toward.y, all.y), z: ratio(toward.z, all.z) }
        };
        points.map(lambert_ratio).collect()
    }
}

impl FarGround {
    /// Radiance at a point of the sheet, by local x and y.
    #[inline(always)]
    pub fn radiance(&self, local: V3) -> V3 {
        self.blend(&self.radiance, local)
    }

    /// Irradiance at a point of the sheet by way of the rest of the sheet and from the background.
    #[inline(always)]
    pub fn indirect(&self, local: V3) -> V3 {
        self.blend(&self.indirect, local)
    }

    /// Reflection of this indirect light towards the camera, as a multiple of what a Lambertian sheet of the same
    /// albedo reflects.
    #[inline(always)]
    pub fn lambert_ratio(&self, local: V3) -> V3 {
        if self.lambert_ratios.is_empty() { V3::ONE } else { self.blend(&self.lambert_ratios, local) }
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

/// Irradiance by the lights, without shadows of bodies.
#[inline]
fn unoccluded(sheet: &Sheet, lights: &[Light], point: V3, normal: V3) -> V3 {
    lights.iter().map(|light| light.irradiance(point, normal) * light.fraction_above_ground(sheet, point)).sum()
}
