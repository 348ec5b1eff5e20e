//! Pieces of text in, a question's text out: a buffer that is written in chunks, not letter by letter.

/// Bytes that are copied at once.
pub(super) const CHUNK: usize = 16;

/// A buffer that questions are written into, one after another.
#[derive(Clone, Debug, Default)]
pub struct Page {
    bytes: Vec<u8>,
    len: usize,
}

impl Page {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends the first `len` bytes of a text that goes on to a multiple of `CHUNK` at least.
    #[inline]
    pub(super) fn push(&mut self, from: &[u8], len: usize) {
        let width = len.next_multiple_of(CHUNK);
        if self.bytes.len() < self.len + width {
            self.bytes.resize(2 * (self.len + width), 0);
        }
        let chunks = from[..width].chunks_exact(CHUNK);
        for (to, from) in self.bytes[self.len..].chunks_exact_mut(CHUNK).zip(chunks) {
            to.copy_from_slice(from);
        }
        self.len += len;
    }

    /// Whether nothing or a space is written last.
    #[inline]
    pub(super) fn is_after_space(&self) -> bool {
        matches!(self.text().last(), None | Some(b' '))
    }

    /// Takes back a space at the end.
    #[inline]
    pub(super) fn drop_space(&mut self) {
        self.len -= usize::from(self.text().ends_with(b" "));
    }

    /// Whether what is written so far ends in the word "a" and a space.
    pub(super) fn ends_with_article(&self) -> bool {
        self.text().ends_with(b" a ") || self.text() == b"A "
    }

    /// Puts an n between that "a" and the space.
    pub(super) fn make_article_an(&mut self) {
        self.bytes[self.len - 1] = b'n';
        self.push(&[b' '; CHUNK], 1);
    }

    /// What was written, without spaces at its end.
    pub(super) fn finish(&self) -> String {
        // Whole texts were written, so this is UTF-8.
        let written = String::from_utf8(self.text().trim_ascii_end().to_vec());
        written.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
