//! The servers that are compared: how each is told to index, to serve and to search.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::corpus::Corpus;
use crate::external;
use crate::run::root;
use crate::server::Build;

/// How a server learns of an edit.
pub(super) enum Edit {
    /// It watches the folder itself.
    Watched,
    /// One of its tools starts a job, another tells its state.
    Job { start: &'static str, status: &'static str },
    /// A command updates the index while the server runs.
    Command,
}

pub(in crate::bench) struct Peer {
    pub(super) name: String,
    /// Its own copy, because some servers change files.
    pub(super) files: PathBuf,
    pub(super) search: &'static str,
    /// Indexes from nothing; `again` with an existing index.
    pub(super) index: Command,
    pub(super) again: Command,
    pub(super) serve: Command,
    pub(super) edit: Edit,
    pub(super) call: fn(&str) -> Value,
}

pub(super) type Make = fn(&Place) -> Result<Peer>;

pub(super) const ALL: [(&str, Make); 5] = [
    ("kenning", kenning),
    ("markdown-vault-mcp", markdown_vault),
    ("basic-memory", basic_memory),
    ("mcp-local-rag", local_rag),
    ("qmd", qmd),
];

/// The folders of one server: its files, its state, and the models it would otherwise download.
pub(in crate::bench) struct Place {
    pub(super) files: PathBuf,
    pub(super) state: PathBuf,
    pub(super) models: PathBuf,
}

impl Place {
    pub(in crate::bench) fn new(folder: &Path, name: &str, corpus: &Corpus) -> Result<Self> {
        let place = Self {
            files: folder.join(name).join("files"),
            state: folder.join(name).join("state"),
            models: folder.join("models"),
        };
        fs::create_dir_all(&place.files)?;
        fs::create_dir_all(&place.state)?;
        for file in &corpus.files {
            let name = file.file_name().unwrap_or_default();
            fs::copy(file, place.files.join(name))?;
        }
        Ok(place)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the others install their program first")]
pub(in crate::bench) fn kenning(place: &Place) -> Result<Peer> {
    let command = |words: &[&str]| {
        let mut command = Build::Release.kenning(&place.state);
        command.arg("--root").arg(&place.files).args(["--log-level", "error"]).args(words);
        command.current_dir(&place.state);
        command
    };
    Ok(Peer {
        name: "Kenning".to_owned(),
        files: place.files.clone(),
        search: "hybrid",
        index: command(&["index", "--embed"]),
        again: command(&["index", "--embed"]),
        serve: command(&["serve"]),
        edit: Edit::Watched,
        call: |query| json!({"name": "search_knowledge", "arguments": {"query": query, "max_results": 10}}),
    })
}

fn markdown_vault(place: &Place) -> Result<Peer> {
    let program = external::markdown_vault()?;
    let command = |word: &str| {
        let mut command = Command::new(&program);
        let set = |name: &str| format!("MARKDOWN_VAULT_MCP_{name}");
        command.arg(word).env("HOME", &place.state).env("HF_HUB_OFFLINE", "1");
        command.env(set("SOURCE_DIR"), &place.files);
        command.env(set("INDEX_PATH"), place.state.join("index.db"));
        command.env(set("EMBEDDINGS_PATH"), place.state.join("embeddings"));
        command.env(set("EMBEDDING_PROVIDER"), "fastembed");
        command.env(set("FASTEMBED_MODEL"), "sentence-transformers/all-MiniLM-L6-v2");
        command.env(set("FASTEMBED_CACHE_DIR"), &place.models);
        command
    };
    Ok(Peer {
        name: format!("markdown-vault-mcp {}", external::MARKDOWN_VAULT),
        files: place.files.clone(),
        search: "hybrid",
        index: command("index"),
        again: command("reindex"),
        serve: command("serve"),
        edit: Edit::Watched,
        call: |query| {
            let arguments = json!({"query": query, "limit": 10, "mode": "hybrid"});
            json!({"name": "search", "arguments": arguments})
        },
    })
}

fn basic_memory(place: &Place) -> Result<Peer> {
    let program = external::basic_memory()?;
    let command = |word: &str| {
        let mut command = Command::new(&program);
        let set = |name: &str| format!("BASIC_MEMORY_{name}");
        command.arg(word).env("HOME", &place.state).env("HF_HUB_OFFLINE", "1");
        command.env("PYTHONPATH", root().join("xtask/peers/sqlite"));
        command.env(set("HOME"), &place.files);
        command.env(set("CONFIG_DIR"), place.state.join("config"));
        command.env(set("SEMANTIC_EMBEDDING_PROVIDER"), "fastembed");
        command
            .env(set("SEMANTIC_EMBEDDING_MODEL"), "sentence-transformers/all-MiniLM-L6-v2")
            .env(set("SEMANTIC_EMBEDDING_CACHE_DIR"), &place.models);
        command.env(set("AUTO_UPDATE"), "false").env(set("NO_PROMOS"), "1");
        command
    };
    Ok(Peer {
        name: format!("basic-memory {}", external::BASIC_MEMORY),
        files: place.files.clone(),
        search: "hybrid",
        index: command("reindex"),
        again: command("reindex"),
        serve: command("mcp"),
        edit: Edit::Watched,
        call: |query| {
            let arguments = json!({
                "query": query, "project": "main", "search_type": "hybrid", "page_size": 10,
                "output_format": "json"
            });
            json!({"name": "search_notes", "arguments": arguments})
        },
    })
}

fn local_rag(place: &Place) -> Result<Peer> {
    let packages = external::local_rag()?;
    let command = |sync: bool| -> Result<Command> {
        let mut command = packages.program_in_home("mcp-local-rag", &place.state)?;
        if sync {
            command.arg("sync").arg(&place.files);
        }
        command.env("BASE_DIR", &place.files).env("DB_PATH", place.state.join("database"));
        command.env("CACHE_DIR", &place.models).env("RAG_DTYPE", "q8");
        Ok(command)
    };
    Ok(Peer {
        name: format!("mcp-local-rag {}", external::LOCAL_RAG),
        files: place.files.clone(),
        search: "hybrid",
        index: command(true)?,
        again: command(true)?,
        serve: command(false)?,
        edit: Edit::Job { start: "sync_start", status: "sync_status" },
        call: |query| json!({"name": "query_documents", "arguments": {"query": query, "limit": 10}}),
    })
}

fn qmd(place: &Place) -> Result<Peer> {
    let packages = external::qmd()?;
    let command = |words: &[&str]| -> Result<Command> {
        let mut command = packages.program_in_home("qmd", &place.state)?;
        command.args(words).env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME");
        Ok(command)
    };
    let mut index = command(&["collection", "add"])?;
    index.arg(&place.files).args(["--name", "corpus"]);
    Ok(Peer {
        name: format!("qmd {}", external::QMD),
        files: place.files.clone(),
        search: "keyword",
        index,
        again: command(&["update"])?,
        serve: command(&["mcp"])?,
        edit: Edit::Command,
        call: |query| {
            // In qmd's syntax a dash excludes a word.
            let words = query.replace(|letter: char| !letter.is_alphanumeric(), " ");
            let searches = json!([{"type": "lex", "query": words.trim()}]);
            json!({"name": "query", "arguments": {"searches": searches, "limit": 10, "rerank": false}})
        },
    })
}

/// Stores our model where the other servers look for a downloaded one.
pub(super) fn install_models(folder: &Path) -> Result<()> {
    const REVISION: &str = "0000000000000000000000000000000000000001";
    let cache = folder.join("models/models--Qdrant--all-MiniLM-L6-v2-onnx");
    fs::create_dir_all(cache.join("refs"))?;
    fs::write(cache.join("refs/main"), REVISION)?;
    install_model(&cache.join("snapshots").join(REVISION), "model.onnx")?;
    install_model(&folder.join("models/Xenova/all-MiniLM-L6-v2"), "onnx/model_quantized.onnx")
}

fn install_model(folder: &Path, weights: &str) -> Result<()> {
    let model = root().join("crates/embed/model");
    let weights = folder.join(weights);
    fs::create_dir_all(weights.parent().unwrap_or(folder))?;
    fs::copy(model.join("minilm-l6-v2-int8.onnx"), weights)?;
    fs::copy(model.join("tokenizer.json"), folder.join("tokenizer.json"))?;
    let tokens = json!({
        "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]",
        "mask_token": "[MASK]"
    });
    let mut tokenizer = tokens.clone();
    tokenizer["tokenizer_class"] = json!("BertTokenizer");
    tokenizer["do_lower_case"] = json!(true);
    tokenizer["model_max_length"] = json!(256);
    let config = json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384,
        "intermediate_size": 1536, "max_position_embeddings": 512, "num_attention_heads": 12,
        "num_hidden_layers": 6, "pad_token_id": 0, "vocab_size": 30522
    });
    let files =
        [("special_tokens_map", tokens), ("tokenizer_config", tokenizer), ("config", config)];
    for (name, content) in files {
        fs::write(folder.join(name).with_extension("json"), content.to_string())?;
    }
    Ok(())
}
