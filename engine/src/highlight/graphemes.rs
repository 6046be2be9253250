use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

/// Caches the last cluster, which may be long and hold many marks.
pub(super) struct GraphemeCache<'a> {
    text: &'a str,
    last: Range<usize>,
}

impl<'a> GraphemeCache<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, last: 0..0 }
    }

    /// The cluster around the offset; empty at a boundary.
    pub(super) fn around(&mut self, offset: usize) -> Range<usize> {
        if self.last.start < offset && offset < self.last.end {
            return self.last.clone();
        }
        let start = boundary_before(self.text, offset);
        if start == offset {
            return offset..offset;
        }
        self.last = start..boundary_behind(self.text, offset);
        self.last.clone()
    }
}

pub(super) fn boundary_before(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

pub(super) fn boundary_behind(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}
