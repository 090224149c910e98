//! Compares the quantised model with the original.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod folder;

use kenning_embed::{DIMENSIONS, Embedded, Embedder, Passage};

/// Texts and their vectors, computed by sentence-transformers in full precision.
fn reference() -> (Vec<String>, Vec<Vec<f32>>) {
    let texts = serde_json::from_str(include_str!("../reference-texts.json")).unwrap();
    let values = include_bytes!("../reference-vectors.f32").chunks_exact(4);
    let values: Vec<f32> = values.map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    (texts, values.chunks_exact(DIMENSIONS).map(<[f32]>::to_vec).collect())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn vectors_agree_with_the_full_precision_model() {
    let (texts, expected) = reference();
    assert_eq!(texts.len(), expected.len());
    let embedder = Embedder::bundled().unwrap();
    let agreement: Vec<f32> = texts
        .iter()
        .zip(&expected)
        .map(|(text, expected)| cosine(&embedder.embed(text).unwrap(), expected))
        .collect();
    let worst = agreement.iter().copied().fold(f32::INFINITY, f32::min);
    let mean = agreement.iter().sum::<f32>() / 30.0;
    assert!(mean > 0.985 && worst > 0.95, "mean {mean}, worst {worst}: {agreement:?}");
}

#[test]
fn nearest_neighbours_agree_with_the_full_precision_model() {
    let (texts, expected) = reference();
    let embedder = Embedder::bundled().unwrap();
    let vectors: Vec<Vec<f32>> = texts.iter().map(|text| embedder.embed(text).unwrap()).collect();
    let mut same = 0;
    for i in 0..texts.len() {
        let nearest = |all: &[Vec<f32>]| {
            let others = (0..texts.len()).filter(|&j| j != i);
            others.max_by(|&a, &b| cosine(&all[i], &all[a]).total_cmp(&cosine(&all[i], &all[b])))
        };
        same += usize::from(nearest(&vectors) == nearest(&expected));
    }
    assert!(same * 10 >= texts.len() * 9, "{same} of {} keep their nearest neighbour", texts.len());
}

#[test]
fn short_passages_have_the_vectors_of_their_texts() {
    let embedder = Embedder::bundled().unwrap();
    let texts = ["short", "A somewhat longer text about rotating signing keys.", ""];
    let passages: Vec<Passage<'_>> = texts.iter().map(|text| Passage { title: "", text }).collect();
    let embedded = embedder.embed_passages(&passages).unwrap();
    for (text, embedded) in texts.iter().zip(&embedded) {
        let alone = embedder.embed(text).unwrap();
        assert_eq!((embedded.windows.len(), &embedded.windows[0]), (1, &(0..text.len())));
        assert_eq!(embedded.vectors, alone, "{text:?}");
    }
}

#[test]
fn long_texts_are_split_and_embedded_to_the_end() {
    let embedder = Embedder::bundled().unwrap();
    let mut text = "The weather report mentions rain and wind again. ".repeat(100);
    text += "Database migrations must take short locks only.";
    let embedded = &embedder.embed_passages(&[Passage { title: "Notes", text: &text }]).unwrap()[0];
    assert!(embedded.windows.len() > 3);
    assert_eq!(embedded.windows.first().unwrap().start, 0);
    assert_eq!(embedded.windows.last().unwrap().end, text.len());
    for pair in embedded.windows.windows(2) {
        assert!(pair[1].start < pair[0].end, "neighbours overlap");
        assert!(text.is_char_boundary(pair[1].start));
    }
    let query = embedder.embed("how to migrate a database without long locks").unwrap();
    let best = embedded.vectors().map(|vector| cosine(&query, vector)).fold(0.0, f32::max);
    let first = cosine(&query, embedded.vectors().next().unwrap());
    assert!(best > first + 0.1, "the end of the text is embedded: {best} against {first}");
}

#[test]
fn stored_bytes_round_trip_and_invalid_ones_are_rejected() {
    let embedder = Embedder::bundled().unwrap();
    let embedded =
        &embedder.embed_passages(&[Passage { title: "T", text: "some text" }]).unwrap()[0];
    let (windows, vectors) = embedded.to_bytes();
    assert_eq!(Embedded::from_bytes(&windows, &vectors).as_ref(), Some(embedded));
    assert_eq!(Embedded::from_bytes(&windows, &vectors[4..]), None);
    assert_eq!(Embedded::from_bytes(&[], &[]), None);
    assert_eq!(Embedded::from_bytes(&windows[1..], &vectors), None);
}

#[test]
fn names_the_missing_file_of_a_model() {
    let error = Embedder::load(std::path::Path::new("nowhere")).unwrap_err().to_string();
    assert!(error.contains("nowhere/model.onnx"), "{error}");
}

#[test]
fn a_question_that_is_asked_again_has_the_same_vector() {
    let embedder = Embedder::bundled().unwrap();
    let first = embedder.embed("how are keys rotated").unwrap();
    assert_eq!(embedder.embed("how are keys rotated").unwrap(), first);
    assert_eq!(Embedder::bundled().unwrap().embed("how are keys rotated").unwrap(), first);
}

#[test]
fn the_fingerprint_stays_the_same() {
    let embedder = Embedder::bundled().unwrap();
    assert_eq!(embedder.fingerprint(), "4f18d0dfefa002c2", "stored vectors are found by it");
}

#[test]
fn names_the_tokenizer_that_is_not_supported() {
    let folder = tempfile::tempdir().unwrap();
    let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("model");
    std::fs::copy(model.join("minilm-l6-v2-int8.onnx"), folder.path().join("model.onnx")).unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), r#"{"model": {"type": "Unigram"}}"#)
        .unwrap();
    let error = Embedder::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("tokenizer.json` cannot be used: its model is `Unigram`"), "{error}");
}
