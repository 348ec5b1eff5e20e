//! Low-discrepancy sample points, by pixel, sample and dimension.
//!
//! The first two dimensions of the Sobol sequence, scrambled differently for each pair of dimensions and each block of
//! pixels. The pixels of a block share one sequence, so that the samples of neighbours, which filters combine, are
//! stratified together.

/// Binary logarithm of the pixels along a block's side.
const BLOCK: u32 = 2;

/// A sample of a pixel: its index in the sequence of the pixel's block.
#[derive(Clone, Copy, Debug)]
pub struct SobolSample {
    index: u32,
    seed: u32,
}

impl SobolSample {
    /// Sample `sample` of `samples`, which are best stratified if they are a power of two.
    #[inline(always)]
    pub fn new(column: u32, row: u32, sample: u32, samples: u32) -> Self {
        let mask = (1 << BLOCK) - 1;
        let place = interleave(column & mask) | (interleave(row & mask) << 1);
        let seed = hash(((column >> BLOCK) << 16) ^ (row >> BLOCK));
        Self { index: place * samples + sample, seed }
    }

    /// Sample `sample` of a pixel that takes `few` samples and perhaps `more`; both are well stratified in a block.
    #[inline(always)]
    pub fn adaptive(column: u32, row: u32, sample: u32, [few, more]: [u32; 2]) -> Self {
        if sample < few {
            return Self::new(column, row, sample, few);
        }
        let later = Self::new(column, row, sample - few, more);
        Self { index: later.index + (few << (2 * BLOCK)), seed: later.seed }
    }

    /// The sample that comes `samples` later in the sequence.
    #[inline(always)]
    pub fn skip(&self, samples: u32) -> Self {
        Self { index: self.index + samples, seed: self.seed }
    }

    /// The same sample with other dimensions, as later bounces need them.
    #[inline(always)]
    pub fn substream(&self, stream: u32) -> Self {
        Self { index: self.index, seed: self.seed ^ stream.wrapping_mul(0x85eb_ca6b) }
    }

    /// A point in the unit square, for a pair of dimensions.
    #[inline(always)]
    pub fn pair(&self, dimension: u32) -> [f32; 2] {
        let scramble = hash(self.seed ^ dimension.wrapping_mul(0x9e37_79b9));
        let again = hash(scramble);
        // A shuffled order of the sequence for each pair of dimensions, which keeps its strata.
        let index = self.index ^ (again & 0xff);
        [unit(index.reverse_bits() ^ scramble), unit(sobol(index) ^ again)]
    }
}

/// The second Sobol dimension, for the low 16 bits of an index.
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

/// Spreads the low three bits to every second bit.
#[inline(always)]
fn interleave(x: u32) -> u32 {
    (x & 1) | ((x & 2) << 1) | ((x & 4) << 2)
}

/// An integer hash (Wellons' "lowbias32").
#[inline(always)]
pub fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
