//! Packs and unpacks HDF5 chunks: bytes shuffled by their place in an element, then deflated.
//!
//! These are HDF5's own filters, "shuffle" and "deflate" (HDF5 File Format Specification, filters 2 and 1), so any HDF5
//! library can read the files. This implementation uses all cores, and its output depends only on its input.
//!
//! The module has its own thread pool: the usual one is busy with questions, whose tasks are long, and a short task
//! here would wait for them to end.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::OnceLock;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ChunkError {
    #[error("compression level {0} should be from 1 to 12")]
    Level(i32),
    #[error("{bytes} bytes are not a whole number of rows of {row} bytes, made of elements of {item}")]
    Shape { bytes: usize, row: usize, item: usize },
    #[error("{chunks} chunks of {size} bytes are more than can be held")]
    TooMuch { chunks: usize, size: usize },
    #[error("a chunk of {0} bytes did not fit into its buffer")]
    Bound(usize),
    #[error("chunk {0} is broken: it does not have the size of this array's chunks")]
    Broken(usize),
}

/// How an array is cut into chunks.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Bytes of an element.
    pub item: usize,
    /// Bytes of a row.
    pub row: usize,
    /// Rows of a chunk; the last chunk is padded with zeros.
    pub rows: usize,
    /// Compression level, from 1 (fastest) to 12 (smallest).
    pub level: i32,
}

/// Maximum size of a chunk in bytes before compression: HDF5's own limit.
const LARGEST_CHUNK: usize = u32::MAX as usize;
/// The most bytes that one byte of deflated data can expand to (a match of 258 bytes takes two bits), rounded up.
const MOST_INFLATED: usize = 1_032;

/// Runs `work` in this module's thread pool, with one thread per core; in the caller's if the pool cannot be built.
fn in_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    match THREADS.get_or_init(|| rayon::ThreadPoolBuilder::new().build().ok()) {
        Some(threads) => threads.install(work),
        None => work(),
    }
}

/// Packs an array into chunks, in order. Uses all cores.
pub fn deflate_chunks(bytes: &[u8], cut: Cut) -> Result<Vec<Vec<u8>>, ChunkError> {
    let Cut { item, row, rows, level } = cut;
    let level = CompressionLvl::new(level).map_err(|_| ChunkError::Level(level))?;
    if item == 0 || row == 0 || rows == 0 || !row.is_multiple_of(item) || !bytes.len().is_multiple_of(row) {
        return Err(ChunkError::Shape { bytes: bytes.len(), row, item });
    }
    let size = rows.checked_mul(row).filter(|&size| size <= LARGEST_CHUNK);
    let size = size.ok_or(ChunkError::TooMuch { chunks: 1, size: rows.saturating_mul(row) })?;
    let deflate = |(compressor, shuffled): &mut (Compressor, Vec<u8>), part: &[u8]| {
        shuffle(part, item, size, shuffled);
        let mut packed = vec![0; compressor.zlib_compress_bound(size)];
        let len = compressor.zlib_compress(shuffled, &mut packed).map_err(|_| ChunkError::Bound(size))?;
        Ok(packed[..len].to_vec())
    };
    in_own_threads(|| bytes.par_chunks(size).map_init(|| (Compressor::new(level), Vec::new()), deflate).collect())
}

/// Writes the first bytes of all elements, then the second bytes and so on; pads the chunk with zeros to `size` bytes.
fn shuffle(part: &[u8], item: usize, size: usize, shuffled: &mut Vec<u8>) {
    shuffled.clear();
    shuffled.resize(size, 0);
    for (place, plane) in shuffled.chunks_exact_mut(size / item).enumerate() {
        for (to, element) in plane.iter_mut().zip(part.chunks_exact(item)) {
            *to = element[place];
        }
    }
}

/// Unpacks the chunks of an array end to end: each gives `size` bytes, in elements of `item` bytes. Uses all cores.
///
/// Memory is allocated only for what the packed bytes can expand to, whatever size a file claims.
///
/// # Errors
/// `Broken` for a chunk that is cut off or has another size.
pub fn inflate_chunks<C: AsRef<[u8]> + Sync>(chunks: &[C], item: usize, size: usize) -> Result<Vec<u8>, ChunkError> {
    if item == 0 || size == 0 || !size.is_multiple_of(item) {
        return Err(ChunkError::Shape { bytes: size, row: size, item });
    }
    if chunks.is_empty() {
        return Ok(Vec::new());
    }
    let is_too_short = |chunk: &C| chunk.as_ref().len().saturating_mul(MOST_INFLATED) < size;
    if let Some(number) = chunks.iter().position(is_too_short) {
        return Err(ChunkError::Broken(number));
    }
    let whole = size.checked_mul(chunks.len()).filter(|&whole| whole <= isize::MAX as usize);
    let mut bytes = vec![0; whole.ok_or(ChunkError::TooMuch { chunks: chunks.len(), size })?];
    let inflate = |(decompressor, shuffled): &mut (Decompressor, Vec<u8>),
                   (number, (to, chunk)): (usize, (&mut [u8], &C))| {
        let whole = decompressor.zlib_decompress(chunk.as_ref(), shuffled).is_ok_and(|len| len == size);
        if !whole {
            return Err(ChunkError::Broken(number));
        }
        for (place, plane) in shuffled.chunks_exact(size / item).enumerate() {
            to.chunks_exact_mut(item).zip(plane).for_each(|(element, byte)| element[place] = *byte);
        }
        Ok(())
    };
    let places = bytes.par_chunks_exact_mut(size).zip(chunks).enumerate();
    in_own_threads(|| places.map_init(|| (Decompressor::new(), vec![0; size]), inflate).collect::<Result<(), _>>())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn chunks_unpack_to_what_was_packed() {
        let values: Vec<u8> = (0..10_000u32).flat_map(|value| (value * value).to_le_bytes()).collect();
        let cut = Cut { item: 4, row: 16, rows: 100, level: 1 };
        let chunks = deflate_chunks(&values, cut).unwrap();
        assert_eq!(inflate_chunks(&chunks, 4, 1_600).unwrap(), values);
        assert!(matches!(inflate_chunks(&chunks, 4, 1_604), Err(ChunkError::Broken(0))));
        let cut_off = [&chunks[0][..], &chunks[1][..chunks[1].len() / 2]];
        assert!(matches!(inflate_chunks(&cut_off, 4, 1_600), Err(ChunkError::Broken(1))));
    }

    #[test]
    fn a_size_that_chunks_cannot_have_takes_no_room() {
        let chunks = deflate_chunks(&[0; 1 << 20], Cut { item: 1, row: 1, rows: 1 << 20, level: 9 }).unwrap();
        assert_eq!(inflate_chunks(&chunks, 1, 1 << 20).unwrap(), [0; 1 << 20], "zeros are packed best");
        for size in [1 << 21, 1 << 40, usize::MAX] {
            assert!(matches!(inflate_chunks(&chunks, 1, size), Err(ChunkError::Broken(0))), "{size}");
        }
        let none: [&[u8]; 0] = [];
        assert!(inflate_chunks(&none, 1, usize::MAX).unwrap().is_empty());
        for rows in [usize::MAX, usize::MAX / 8 + 1, 1 << 40] {
            let cut = Cut { item: 4, row: 8, rows, level: 4 };
            assert!(matches!(deflate_chunks(&[0; 16], cut), Err(ChunkError::TooMuch { .. })), "{rows}");
        }
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
