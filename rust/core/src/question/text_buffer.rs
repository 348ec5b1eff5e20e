//! A text buffer that is written in chunks instead of byte by byte.

/// Number of bytes that are copied at once; most pieces are shorter.
pub(super) const CHUNK: usize = 32;

/// A buffer that questions are written into, one after the other.
#[derive(Clone, Debug, Default)]
pub struct TextBuffer {
    bytes: Vec<u8>,
    len: usize,
}

impl TextBuffer {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends the first `len` bytes of `from`, which is followed by padding of a chunk.
    #[inline]
    pub(super) fn push(&mut self, from: &[u8], len: usize) {
        if len > CHUNK || self.bytes.len() < self.len + CHUNK {
            return self.push_long(from, len);
        }
        self.bytes[self.len..self.len + CHUNK].copy_from_slice(&from[..CHUNK]);
        self.len += len;
    }

    /// The same for text of any length, and for a buffer without room for a chunk.
    fn push_long(&mut self, from: &[u8], len: usize) {
        if self.bytes.len() < self.len + len {
            self.bytes.resize(2 * (self.len + len).max(CHUNK), 0);
        }
        self.bytes[self.len..self.len + len].copy_from_slice(&from[..len]);
        self.len += len;
    }

    /// Appends a space, unless the text is empty or ends in one.
    #[inline]
    pub(super) fn push_space(&mut self) {
        if !self.is_after_space() {
            self.push(&[b' '; CHUNK], 1);
        }
    }

    /// Whether the text is empty or ends in a space.
    #[inline]
    pub(super) fn is_after_space(&self) -> bool {
        matches!(self.text().last(), None | Some(b' '))
    }

    /// Removes a space at the end.
    #[inline]
    pub(super) fn drop_space(&mut self) {
        self.len -= usize::from(self.text().ends_with(b" "));
    }

    /// Whether the text ends in the word "a" and a space.
    pub(super) fn ends_with_article(&self) -> bool {
        self.text().ends_with(b" a ") || self.text() == b"A "
    }

    /// Turns this "a" into "an".
    pub(super) fn make_article_an(&mut self) {
        self.bytes[self.len - 1] = b'n';
        self.push(&[b' '; CHUNK], 1);
    }

    /// The text without spaces at its end.
    pub(super) fn finish(&self) -> String {
        // This is UTF-8, since whole strings were written.
        let written = String::from_utf8(self.text().trim_ascii_end().to_vec());
        written.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
