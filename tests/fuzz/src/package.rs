//! Mutates a part within an archive: mutations of packed bytes would reach no reader.

use std::io::{Cursor, Read, Write};

use libfuzzer_sys::fuzzer_mutate;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Parts are small; larger ones stay as they are.
const MAX_PART_BYTES: usize = 1 << 20;
/// One in so many archives is mutated as its bytes stand.
const AS_IT_STANDS: u32 = 8;

/// Makes an archive with one mutated part, none of them packed.
///
/// `None` if these bytes are no archive.
pub fn mutate(bytes: &[u8], max_size: usize, seed: u32) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"PK") || seed % AS_IT_STANDS == 0 {
        return None;
    }
    let mut parts = read(bytes)?;
    let room = max_size.saturating_sub(write(&parts)?.len());
    let count = u32::try_from(parts.len()).ok()?;
    let place = (seed / AS_IT_STANDS).checked_rem(count)? as usize;
    let part = &mut parts[place].1;
    let inner = seed.rotate_right(5);
    *part = mutate(part, part.len() + room, inner).unwrap_or_else(|| mutate_plain(part, room));
    write(&parts)
}

fn mutate_plain(part: &[u8], room: usize) -> Vec<u8> {
    let most = part.len() + room.min(MAX_PART_BYTES);
    let mut mutated = part.to_vec();
    mutated.resize(most, 0);
    let length = fuzzer_mutate(&mut mutated, part.len(), most);
    mutated.truncate(length);
    mutated
}

fn read(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut parts = Vec::new();
    for place in 0..archive.len() {
        let mut part = archive.by_index(place).ok()?;
        let name = part.name().ok()?.into_owned();
        let mut content = Vec::new();
        (&mut part).take(MAX_PART_BYTES as u64).read_to_end(&mut content).ok()?;
        parts.push((name, content));
    }
    Some(parts)
}

fn write(parts: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in parts {
        archive.start_file(name.as_str(), stored).ok()?;
        archive.write_all(content).ok()?;
    }
    Some(archive.finish().ok()?.into_inner())
}
