//! What the files of a model's folder say is followed, or refused with the file and the value.

use std::fs;
use std::path::{Path, PathBuf};

use kenning_embed::{Embedder, Passage};
use serde_json::{Value, json};
use tempfile::TempDir;

const POOLING: &str = "1_Pooling/config.json";
const TEXT: &str = "how do I rotate the keys that sign our access tokens";

/// A folder with the bundled model and some files beside it.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, Value)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path("1_Pooling")).unwrap();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("model");
        fs::copy(model.join("minilm-l6-v2-int8.onnx"), folder.path("model.onnx")).unwrap();
        fs::copy(model.join("tokenizer.json"), folder.path("tokenizer.json")).unwrap();
        folder.write(POOLING, &json!({"pooling_mode_mean_tokens": true}));
        for (name, content) in files {
            folder.write(name, content);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &Value) {
        fs::write(self.path(name), content.to_string()).unwrap();
    }

    fn load(&self) -> Embedder {
        Embedder::load(self.0.path()).unwrap()
    }

    fn refusal(&self) -> String {
        Embedder::load(self.0.path()).unwrap_err().to_string()
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// All files as sentence-transformers writes them for the bundled model.
fn complete() -> Folder {
    let module = |name: &str, path: &str| json!({"type": format!("sentence_transformers.models.{name}"), "path": path});
    let modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")];
    Folder::new(&[
        ("modules.json", modules.map(|(name, path)| module(name, path)).into_iter().collect()),
        (
            POOLING,
            json!({
                "word_embedding_dimension": 384,
                "pooling_mode_cls_token": false,
                "pooling_mode_mean_tokens": true,
                "pooling_mode_max_tokens": false,
            }),
        ),
        ("sentence_bert_config.json", json!({"max_seq_length": 256, "do_lower_case": false})),
        ("tokenizer_config.json", json!({"do_lower_case": true, "model_max_length": 512})),
        (
            "config_sentence_transformers.json",
            json!({"prompts": {}, "similarity_fn_name": "cosine"}),
        ),
    ])
}

#[test]
fn a_folder_of_the_bundled_model_has_its_vectors_and_its_fingerprint() {
    let (bundled, loaded) = (Embedder::bundled().unwrap(), complete().load());
    assert_eq!(loaded.fingerprint(), bundled.fingerprint());
    assert_eq!(loaded.embed(TEXT).unwrap(), bundled.embed(TEXT).unwrap());
    assert!(bundled.is_bundled() && !loaded.is_bundled());
}

#[test]
fn a_cls_model_is_pooled_as_it_says() {
    let mean = complete().load();
    for mode in [json!({"pooling_mode_cls_token": true}), json!({"pooling_mode": "cls"})] {
        let cls = Folder::new(&[(POOLING, mode)]).load();
        assert_ne!(cls.fingerprint(), mean.fingerprint(), "their vectors cannot be compared");
        let (a, b) = (cls.embed(TEXT).unwrap(), mean.embed(TEXT).unwrap());
        assert!(cosine(&a, &b) < 0.9, "{}", cosine(&a, &b));
        assert!((cosine(&a, &a) - 1.0).abs() < 1e-4, "length 1");
    }
}

#[test]
fn a_window_is_as_long_as_the_model_says() {
    let text = "The weather report mentions rain and wind again. ".repeat(40);
    let windows = |model: &Embedder| {
        model.embed_passages(&[Passage { title: "", text: &text }]).unwrap()[0].windows.len()
    };
    let long = complete().load();
    let short =
        Folder::new(&[("sentence_bert_config.json", json!({"max_seq_length": 128}))]).load();
    let tokenizers =
        Folder::new(&[("tokenizer_config.json", json!({"model_max_length": 128}))]).load();
    assert!(windows(&short) > windows(&long));
    assert_eq!(windows(&short), windows(&tokenizers));
}

#[test]
fn prompts_are_put_before_queries_and_passages() {
    let prompts = json!({"prompts": {"query": "search_query: ", "passage": "search_document: "}});
    let model = Folder::new(&[("config_sentence_transformers.json", prompts)]).load();
    let plain = complete().load();
    let query = plain.embed(&format!("search_query: {TEXT}")).unwrap();
    assert_eq!(model.embed(TEXT).unwrap(), query);
    let passages = |model: &Embedder, text: &str| {
        model.embed_passages(&[Passage { title: "", text }]).unwrap()[0].vectors.clone()
    };
    let with_prompt = passages(&plain, &format!("search_document: {TEXT}"));
    assert_eq!(passages(&model, TEXT), with_prompt);
}

#[test]
fn a_vocabulary_without_a_tokenizer_file_is_read() {
    let folder = complete();
    let tokenizer: Value =
        serde_json::from_slice(&fs::read(folder.path("tokenizer.json")).unwrap()).unwrap();
    let vocabulary = tokenizer["model"]["vocab"].as_object().unwrap();
    let mut words: Vec<(&String, u64)> =
        vocabulary.iter().map(|(word, id)| (word, id.as_u64().unwrap())).collect();
    words.sort_by_key(|(_, id)| *id);
    let lines: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    fs::write(folder.path("vocab.txt"), lines.join("\n")).unwrap();
    fs::remove_file(folder.path("tokenizer.json")).unwrap();
    let bundled = Embedder::bundled().unwrap();
    for text in [TEXT, "Größe, naïve [SEP] 中文", ""] {
        assert_eq!(folder.load().embed(text).unwrap(), bundled.embed(text).unwrap(), "{text}");
    }
    folder.write("tokenizer_config.json", &json!({"tokenizer_class": "MPNetTokenizer"}));
    assert!(
        folder.refusal().contains("`tokenizer_class` is `MPNetTokenizer`"),
        "{}",
        folder.refusal()
    );
}

#[test]
fn weights_are_found_where_the_hub_has_them() {
    let folder = complete();
    fs::create_dir(folder.path("onnx")).unwrap();
    fs::rename(folder.path("model.onnx"), folder.path("onnx/model.onnx")).unwrap();
    assert_eq!(folder.load().fingerprint(), Embedder::bundled().unwrap().fingerprint());
}

#[test]
fn what_cannot_be_run_is_refused_with_the_file_and_the_value() {
    let dense = json!([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]);
    let prompt = json!({"prompts": {"query": "query: "}});
    let without_prompt = json!({"pooling_mode": "mean", "include_prompt": false});
    for (files, file, value) in [
        (vec![(POOLING, json!({"pooling_mode_max_tokens": true}))], POOLING, "`max_tokens`"),
        (vec![(POOLING, json!({"pooling_mode": "lasttoken"}))], POOLING, "`lasttoken`"),
        (
            vec![(
                POOLING,
                json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}),
            )],
            POOLING,
            "`cls_token` and `mean_tokens`",
        ),
        (
            vec![(POOLING, json!({"pooling_mode": "cls", "word_embedding_dimension": 768}))],
            POOLING,
            "768 dimensions",
        ),
        (
            vec![(POOLING, without_prompt), ("config_sentence_transformers.json", prompt)],
            POOLING,
            "`include_prompt` is false",
        ),
        (vec![("modules.json", dense)], "modules.json", "models.Dense"),
        (
            vec![("config_sentence_transformers.json", json!({"similarity_fn_name": "dot"}))],
            "config_sentence_transformers.json",
            "`dot`",
        ),
        (
            vec![("tokenizer_config.json", json!({"do_lower_case": false}))],
            "tokenizer_config.json",
            "`do_lower_case` is false",
        ),
        (
            vec![("sentence_bert_config.json", json!({"max_seq_length": 8}))],
            "sentence_bert_config.json",
            "`max_seq_length` is 8",
        ),
        (vec![("modules.json", json!("{"))], "modules.json", "it is no list"),
    ] {
        let message = Folder::new(&files).refusal();
        assert!(message.contains(file) && message.contains(value), "{message}");
    }
}

#[test]
fn a_model_without_its_pooling_is_refused() {
    let folder = complete();
    fs::remove_file(folder.path(POOLING)).unwrap();
    let message = folder.refusal();
    assert!(message.contains("1_Pooling/config.json") && message.contains("missing"), "{message}");
}

#[test]
fn a_network_with_another_output_is_refused() {
    let folder = complete();
    let weights = fs::read(folder.path("model.onnx")).unwrap();
    let (old, new) = (b"last_hidden_state", b"sentence_vectors_");
    let at: Vec<usize> =
        (0..weights.len() - old.len()).filter(|&at| weights[at..].starts_with(old)).collect();
    let mut renamed = weights;
    for at in at {
        renamed[at..at + new.len()].copy_from_slice(new);
    }
    fs::write(folder.path("model.onnx"), renamed).unwrap();
    let message = folder.refusal();
    assert!(message.contains("has the output `sentence_vectors_`"), "{message}");
}
