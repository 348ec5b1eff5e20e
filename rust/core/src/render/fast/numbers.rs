//! Uniform random numbers that fill the square evenly, by pixel, sample and dimension.
//!
//! Sobol's first two dimensions, scrambled anew for each dimension and each block of pixels. The
//! pixels of a block share one sequence, so neighbours, which filters bring together, do not draw
//! alike.

/// Pixels along a block's side, as a power of two.
const BLOCK: u32 = 2;

/// Where in its sequence a sample stands.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    index: u32,
    seed: u32,
}

impl Numbers {
    /// Of sample `sample` of `samples`; evenest for a power of two.
    #[inline(always)]
    pub fn new(column: u32, row: u32, sample: u32, samples: u32) -> Self {
        let mask = (1 << BLOCK) - 1;
        let place = interleave(column & mask) | (interleave(row & mask) << 1);
        let seed = hash(((column >> BLOCK) << 16) ^ (row >> BLOCK));
        Self { index: place * samples + sample, seed }
    }

    /// Of sample `sample` of a pixel that takes `few` samples and perhaps `more`: either way a block has them evenly.
    #[inline(always)]
    pub fn growing(column: u32, row: u32, sample: u32, [few, more]: [u32; 2]) -> Self {
        if sample < few {
            return Self::new(column, row, sample, few);
        }
        let later = Self::new(column, row, sample - few, more);
        Self { index: later.index + (few << (2 * BLOCK)), seed: later.seed }
    }

    /// The numbers of a later sample of the sequence.
    #[inline(always)]
    pub fn later(&self, samples: u32) -> Self {
        Self { index: self.index + samples, seed: self.seed }
    }

    /// Numbers of dimensions that earlier bounces have not used.
    #[inline(always)]
    pub fn deeper(&self, dimensions: u32) -> Self {
        Self { index: self.index, seed: self.seed ^ dimensions.wrapping_mul(0x85eb_ca6b) }
    }

    /// Two numbers in [0, 1) for dimension `dimension`.
    #[inline(always)]
    pub fn pair(&self, dimension: u32) -> [f32; 2] {
        let scramble = hash(self.seed ^ dimension.wrapping_mul(0x9e37_79b9));
        let again = hash(scramble);
        // Another order of the sequence for each dimension, which keeps its strata.
        let index = self.index ^ (again & 0xff);
        [unit(index.reverse_bits() ^ scramble), unit(sobol(index) ^ again)]
    }
}

/// Sobol's second dimension of the low 16 bits of an index.
#[inline(always)]
fn sobol(index: u32) -> u32 {
    LOW[(index & 0xff) as usize] ^ HIGH[(index >> 8 & 0xff) as usize]
}

static LOW: [u32; 256] = sobol_table(0);
static HIGH: [u32; 256] = sobol_table(8);

const fn sobol_table(shift: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut index = (i as u32) << shift;
        let mut direction = 1_u32 << 31;
        while index != 0 {
            if index & 1 == 1 {
                table[i] ^= direction;
            }
            index >>= 1;
            direction ^= direction >> 1;
        }
        i += 1;
    }
    table
}

#[inline(always)]
fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Spreads the low bits to every second place.
#[inline(always)]
fn interleave(x: u32) -> u32 {
    (x & 1) | ((x & 2) << 1) | ((x & 4) << 2)
}

/// A mix of all bits (Wellons' "lowbias32").
#[inline(always)]
pub fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
