//! Semantic similarity: a vector for every phrase. Those of the bundled phrases are computed in
//! advance and part of the binary.

use std::sync::OnceLock;

/// Computes the vector of a text; `None` while the model is not loaded.
pub type Embed<'a> = &'a dyn Fn(&str) -> Option<Vec<f32>>;

pub const DIMENSIONS: usize = 384;
const KEY_BYTES: usize = 16;
const SCALE_BYTES: usize = 4;
const ENTRY_BYTES: usize = SCALE_BYTES + DIMENSIONS;

/// `data/phrases.vectors`: a hash of the texts, then each vector as a scale and 8-bit values.
static BUNDLED: &[u8] = include_bytes!("../../../data/phrases.vectors");

/// The vectors of a catalog's phrases.
#[derive(Debug)]
pub(crate) struct Vectors {
    /// How many texts, from the first, have bundled vectors.
    pub(crate) bundled: usize,
    /// The vectors of the other texts, computed when they are first needed.
    own: OnceLock<Vec<u8>>,
}

impl Vectors {
    pub(crate) fn new(bundled: usize) -> Self {
        Self { bundled, own: OnceLock::new() }
    }

    /// The cosine similarity of a query with every text; `None` without a model.
    pub(crate) fn compare(
        &self,
        texts: &[String],
        query: &str,
        embed: Embed<'_>,
    ) -> Option<Vec<f32>> {
        let query = embed(query)?;
        let own = self.own(&texts[self.bundled..], embed)?.chunks_exact(ENTRY_BYTES);
        let bundled = BUNDLED[KEY_BYTES..].chunks_exact(ENTRY_BYTES).take(self.bundled);
        Some(bundled.chain(own).map(|entry| dot(entry, &query)).collect())
    }

    fn own(&self, texts: &[String], embed: Embed<'_>) -> Option<&[u8]> {
        if let Some(own) = self.own.get() {
            return Some(own);
        }
        let mut own = Vec::new();
        for text in texts {
            own.extend(entry(&embed(text)?));
        }
        Some(self.own.get_or_init(|| own))
    }
}

/// The content of `data/phrases.vectors` for these texts.
pub fn vectors_file(texts: &[String], embed: impl Fn(&str) -> Vec<f32>) -> Vec<u8> {
    let mut bytes = text_key(texts).to_vec();
    for text in texts {
        bytes.extend(entry(&embed(text)));
    }
    bytes
}

/// Whether the bundled vectors were computed from these texts.
pub fn is_current(texts: &[String]) -> bool {
    BUNDLED.starts_with(&text_key(texts)) && BUNDLED.len() == KEY_BYTES + texts.len() * ENTRY_BYTES
}

fn text_key(texts: &[String]) -> [u8; KEY_BYTES] {
    let mut hash = blake3::Hasher::new();
    for text in texts {
        hash.update(text.as_bytes()).update(&[0]);
    }
    let mut key = [0; KEY_BYTES];
    hash.finalize_xof().fill(&mut key);
    key
}

#[expect(clippy::cast_possible_truncation, reason = "the value is between -127 and 127")]
fn entry(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()));
    let mut bytes = (largest / 127.0).to_le_bytes().to_vec();
    bytes.extend(vector.iter().map(|v| ((v / largest * 127.0).round() as i8).cast_unsigned()));
    bytes
}

fn dot(entry: &[u8], vector: &[f32]) -> f32 {
    let (scale, values) = entry.split_at(SCALE_BYTES);
    let scale = scale.try_into().map_or(0.0, f32::from_le_bytes);
    let products = values.iter().zip(vector).map(|(a, b)| f32::from(a.cast_signed()) * b);
    products.sum::<f32>() * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantised_vectors_preserve_the_cosine() {
        let vector: Vec<f32> =
            (0..DIMENSIONS).map(|i| ((i * 37 % 101) as f32 - 50.0) / 570.0).collect();
        let exact: f32 = vector.iter().map(|value| value * value).sum();
        assert!((dot(&entry(&vector), &vector) - exact).abs() < 0.005);
    }
}
