use std::{
    collections::{BTreeMap, HashMap},
    io::Cursor,
};

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter};

const COLOURS: usize = 256;

type Colour = [u8; 3];

pub(super) fn reduce(picture: &[u8]) -> Vec<u8> {
    let mut reader = Decoder::new(Cursor::new(picture)).read_info().unwrap();
    let mut points = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut points).unwrap();
    assert_eq!(frame.bit_depth, BitDepth::Eight);
    let width = match frame.color_type {
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        other => panic!("{other:?} is no screenshot"),
    };
    let colours: Vec<Colour> =
        points.chunks_exact(width).map(|point| [point[0], point[1], point[2]]).collect();

    let palette = palette(&colours);
    let mut places: HashMap<Colour, u8> = HashMap::new();
    let reduced: Vec<u8> = colours
        .iter()
        .map(|colour| *places.entry(*colour).or_insert_with(|| nearest(&palette, *colour)))
        .collect();

    let mut small = Vec::new();
    let mut encoder = Encoder::new(&mut small, frame.width, frame.height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_compression(Compression::High);
    encoder.set_filter(Filter::NoFilter);
    encoder.write_header().unwrap().write_image_data(&reduced).unwrap();
    small
}

fn palette(colours: &[Colour]) -> Vec<Colour> {
    let mut counts: BTreeMap<Colour, usize> = BTreeMap::new();
    for colour in colours {
        *counts.entry(*colour).or_default() += 1;
    }
    let mut colours: Vec<(Colour, usize)> = counts.into_iter().collect();
    colours.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    colours.into_iter().take(COLOURS).map(|(colour, _)| colour).collect()
}

fn nearest(palette: &[Colour], colour: Colour) -> u8 {
    let distance = |other: &Colour| -> u32 {
        other.iter().zip(colour).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
    };
    let (place, _) = palette.iter().enumerate().min_by_key(|(_, other)| distance(other)).unwrap();
    u8::try_from(place).unwrap()
}
