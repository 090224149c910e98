use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_embed::Embedder;
use kenning_knowledge::semantic::{Indexer, ModelSource, NoCache};

use crate::Folder;

/// The vectors of the catalog are part of the program, and those of another model are as far from them
/// as any.
#[test]
fn texts_for_the_catalog_are_embedded_by_the_built_in_model_whichever_the_bases_use() {
    const TEXT: &str = "undo what the agent did";
    let folder = Folder::new(&[("a.md", "# A\n\nText.")]);
    let model = Folder::new(&[("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#)]);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embed/model");
    for (from, to) in
        [("minilm-l6-v2-int8.onnx", "model.onnx"), ("tokenizer.json", "tokenizer.json")]
    {
        fs::copy(files.join(from), model.path().join(to)).unwrap();
    }
    let library = Arc::new(folder.library());
    let source = ModelSource::Folder(model.path().to_owned());
    let mut indexer = Indexer::new(library.clone(), Arc::new(NoCache), source.load().unwrap());
    indexer.catch_up(&|_, _| {}).unwrap();
    let expected = Embedder::bundled().unwrap().embed(TEXT).unwrap();
    assert_ne!(library.embed(TEXT).unwrap(), expected, "the bases use another model");
    assert_eq!(library.embed_bundled(TEXT).unwrap(), expected);
}
