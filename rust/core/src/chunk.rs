//! Rows of an array in, HDF5 chunks out: bytes shuffled by their place in an element, then deflated.
//!
//! These are HDF5's own filters, "shuffle" and "deflate" (HDF5 File Format Specification, filters 2 and 1), so
//! any HDF5 library reads what a file holds of them. Here they use all cores, and the compressor is one whose
//! output depends on its input alone.

use libdeflater::{CompressionLvl, Compressor};
use rayon::prelude::*;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ChunkError {
    #[error("compression level {0} should be from 1 to 12")]
    Level(i32),
    #[error("{bytes} bytes are no whole number of rows of {row} bytes, made of elements of {item}")]
    Shape { bytes: usize, row: usize, item: usize },
    #[error("a chunk of {0} bytes did not fit into what was reckoned for it")]
    Bound(usize),
}

/// How an array is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Bytes of an element.
    pub item: usize,
    /// Bytes of a row.
    pub row: usize,
    /// Rows of a chunk; the last one is filled up with zeros.
    pub rows: usize,
    /// From 1, fast, to 12, small.
    pub level: i32,
}

/// The chunks of an array, in order. Uses all cores.
pub fn deflate_chunks(bytes: &[u8], cut: Cut) -> Result<Vec<Vec<u8>>, ChunkError> {
    let Cut { item, row, rows, level } = cut;
    let level = CompressionLvl::new(level).map_err(|_| ChunkError::Level(level))?;
    if item == 0 || row == 0 || rows == 0 || !row.is_multiple_of(item) || !bytes.len().is_multiple_of(row) {
        return Err(ChunkError::Shape { bytes: bytes.len(), row, item });
    }
    let size = rows * row;
    let deflate = |(compressor, shuffled): &mut (Compressor, Vec<u8>), part: &[u8]| {
        shuffle(part, item, size, shuffled);
        let mut packed = vec![0; compressor.zlib_compress_bound(size)];
        let len = compressor.zlib_compress(shuffled, &mut packed).map_err(|_| ChunkError::Bound(size))?;
        Ok(packed[..len].to_vec())
    };
    bytes.par_chunks(size).map_init(|| (Compressor::new(level), Vec::new()), deflate).collect()
}

/// All elements' first bytes, then all second ones and so on, of a chunk filled up with zeros.
fn shuffle(part: &[u8], item: usize, size: usize, shuffled: &mut Vec<u8>) {
    shuffled.clear();
    shuffled.resize(size, 0);
    for (place, plane) in shuffled.chunks_exact_mut(size / item).enumerate() {
        for (to, element) in plane.iter_mut().zip(part.chunks_exact(item)) {
            *to = element[place];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libdeflater::Decompressor;

    #[test]
    fn a_chunk_inflates_to_its_shuffled_rows() {
        let values: Vec<u8> = (0..3u32 * 2).flat_map(|value| (value * 0x0102_0304).to_le_bytes()).collect();
        let cut = Cut { item: 4, row: 8, rows: 2, level: 4 };
        let chunks = deflate_chunks(&values, cut).unwrap();
        assert_eq!(chunks.len(), 2);
        let mut last = vec![0; 16];
        assert_eq!(Decompressor::new().zlib_decompress(&chunks[1], &mut last).unwrap(), 16);
        // The third row's two elements, and a row of zeros.
        assert_eq!(last, [0x10, 0x14, 0, 0, 0x0c, 0x0f, 0, 0, 0x08, 0x0a, 0, 0, 0x04, 0x05, 0, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cut = Cut { item: 4, row: 8, rows: 2, level: 4 };
        assert!(deflate_chunks(&[0; 12], cut).is_err());
        assert!(deflate_chunks(&[0; 12], Cut { row: 6, ..cut }).is_err());
        assert!(deflate_chunks(&[0; 16], Cut { level: 13, ..cut }).is_err());
        assert!(deflate_chunks(&[], cut).unwrap().is_empty());
    }
}
