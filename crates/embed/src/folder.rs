//! Reads what a sentence-transformer's own files say about running it.
//!
//! A model that runs, but not as it was trained, gives vectors that look like any others and find the
//! wrong texts. So what these files ask for and this crate does not do is an error, which names the
//! file and the value.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use crate::tokenizer::{Tokenizer, from_vocabulary};
use crate::{DIMENSIONS, LoadError};

/// Longer windows than this are not used, whatever the model allows: attention takes time that grows
/// with the square of the length, and one vector says little about a longer text.
const LONGEST_WINDOW: usize = 512;
/// A window must leave room for markers, a title and some text.
const SHORTEST_WINDOW: usize = 64;

/// How a model is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) pooling: Pooling,
    /// The model's window, including its two markers.
    pub(crate) max_tokens: usize,
    /// Put before a query.
    pub(crate) query_prompt: String,
    /// Put before a passage.
    pub(crate) document_prompt: String,
}

/// How the vectors of the tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    /// The vector of the first token.
    Cls,
}

impl Recipe {
    /// That of the bundled model.
    pub(crate) fn bundled() -> Self {
        Self {
            pooling: Pooling::Mean,
            max_tokens: 256,
            query_prompt: String::new(),
            document_prompt: String::new(),
        }
    }
}

/// A folder in which sentence-transformers saved a model.
pub(crate) struct Folder<'a>(pub(crate) &'a Path);

impl Folder<'_> {
    /// The weights: beside the other files or, as on the Hugging Face
    /// hub, in `onnx`.
    pub(crate) fn weights(&self) -> Result<Vec<u8>, LoadError> {
        match self.read("onnx/model.onnx")? {
            Some(weights) if !self.0.join("model.onnx").exists() => Ok(weights),
            _ => self.require("model.onnx"),
        }
    }

    /// The tokenizer with the bytes that identify it.
    pub(crate) fn tokenizer(&self) -> Result<(Tokenizer, Vec<u8>), LoadError> {
        let config = self.json("tokenizer_config.json")?.unwrap_or_default();
        let (name, json) = match self.read("vocab.txt")? {
            Some(vocabulary) if !self.0.join("tokenizer.json").exists() => {
                ("vocab.txt", self.converted(&vocabulary, config.clone())?)
            }
            _ => ("tokenizer.json", self.require("tokenizer.json")?),
        };
        let tokenizer = Tokenizer::from_json(&json)
            .map_err(|source| LoadError::Tokenizer { path: self.0.join(name), source })?;
        let lower = config.get("do_lower_case").and_then(Value::as_bool);
        if let Some(lower) = lower.filter(|&lower| lower != tokenizer.ignores_case()) {
            let found = format!("`do_lower_case` is {lower}, and `{name}` says otherwise");
            return Err(self.refusal("tokenizer_config.json", found, "the same in both files"));
        }
        Ok((tokenizer, json))
    }

    /// The `tokenizer.json` that a `vocab.txt` stands for.
    fn converted(&self, vocabulary: &[u8], mut config: Value) -> Result<Vec<u8>, LoadError> {
        let class =
            config.get("tokenizer_class").and_then(Value::as_str).unwrap_or("BertTokenizer");
        if !matches!(class.trim_end_matches("Fast"), "BertTokenizer" | "DistilBertTokenizer") {
            let found = format!("`tokenizer_class` is `{class}`, and there is no `tokenizer.json`");
            return Err(self.refusal(
                "tokenizer_config.json",
                found,
                "`BertTokenizer` is read from a `vocab.txt` alone",
            ));
        }
        let tokens = self.json("special_tokens_map.json")?.unwrap_or_default();
        if let (Some(config), Value::Object(tokens)) = (config.as_object_mut(), &tokens) {
            for (name, token) in tokens {
                config.entry(name).or_insert_with(|| token.clone());
            }
        }
        let config = if config.is_null() { tokens } else { config };
        let json = from_vocabulary(&String::from_utf8_lossy(vocabulary), &config)
            .map_err(|source| LoadError::Tokenizer { path: self.0.join("vocab.txt"), source })?;
        Ok(json.to_string().into_bytes())
    }

    pub(crate) fn recipe(&self, tokenizer: &Tokenizer) -> Result<Recipe, LoadError> {
        let modules = self.modules()?;
        let prompts = self.json("config_sentence_transformers.json")?.unwrap_or_default();
        let recipe = Recipe {
            pooling: self.pooling(&modules.pooling, &prompts)?,
            max_tokens: self.max_tokens(tokenizer)?,
            query_prompt: prompt(&prompts, &["query"]).to_owned(),
            document_prompt: prompt(&prompts, &["document", "passage", "corpus"]).to_owned(),
        };
        self.check_similarity(&prompts, &modules)?;
        Ok(recipe)
    }

    /// What `modules.json` lists: a transformer, pooling and, perhaps, normalisation.
    fn modules(&self) -> Result<Modules, LoadError> {
        const FILE: &str = "modules.json";
        let mut modules = Modules { pooling: "1_Pooling".to_owned(), normalizes: false };
        let Some(list) = self.json(FILE)? else { return Ok(modules) };
        let Some(list) = list.as_array() else {
            return Err(self.refusal(FILE, "it is no list".to_owned(), "a list of modules"));
        };
        for module in list {
            let field = |name: &str| module.get(name).and_then(Value::as_str).unwrap_or_default();
            match field("type").rsplit('.').next().unwrap_or_default() {
                "Transformer" => {}
                "Pooling" => field("path").clone_into(&mut modules.pooling),
                "Normalize" => modules.normalizes = true,
                _ => {
                    let found = format!("it has the module `{}`", field("type"));
                    return Err(self.refusal(FILE, found, "Transformer, Pooling and Normalize"));
                }
            }
        }
        Ok(modules)
    }

    fn pooling(&self, folder: &str, prompts: &Value) -> Result<Pooling, LoadError> {
        let file = format!("{folder}/config.json");
        let Some(config) = self.json(&file)? else {
            return Err(LoadError::NoPooling { path: self.0.join(file) });
        };
        let modes = pooling_modes(&config);
        let pooling = match &modes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mean" | "mean_tokens"] => Pooling::Mean,
            ["cls" | "cls_token"] => Pooling::Cls,
            other => {
                let found = format!("its pooling is `{}`", other.join("` and `"));
                return Err(self.refusal(&file, found, "`mean_tokens` or `cls_token` alone"));
            }
        };
        let has_prompt = [&["query"][..], &["document", "passage", "corpus"]]
            .iter()
            .any(|names| !prompt(prompts, names).is_empty());
        if has_prompt && config.get("include_prompt") == Some(&Value::Bool(false)) {
            let found = "`include_prompt` is false".to_owned();
            return Err(self.refusal(&file, found, "pooling over the prompt too"));
        }
        let size = ["embedding_dimension", "word_embedding_dimension"];
        match size.iter().find_map(|name| config.get(name)?.as_u64()) {
            Some(size) if size != DIMENSIONS as u64 => {
                let found = format!("the model has {size} dimensions");
                Err(self.refusal(&file, found, "models of 384 dimensions"))
            }
            _ => Ok(pooling),
        }
    }

    /// The window, as sentence-transformers finds it: what is set for it, or else the least of what
    /// tokenizer and network allow.
    fn max_tokens(&self, tokenizer: &Tokenizer) -> Result<usize, LoadError> {
        const FILE: &str = "sentence_bert_config.json";
        let config = self.json(FILE)?.unwrap_or_default();
        if config.get("do_lower_case") == Some(&Value::Bool(true)) && !tokenizer.ignores_case() {
            let found = "`do_lower_case` is true, and the tokenizer minds case".to_owned();
            return Err(self.refusal(FILE, found, "a tokenizer that lower-cases"));
        }
        let number = |file: &str, field: &str| -> Result<Option<usize>, LoadError> {
            let value = self.json(file)?.and_then(|json| json.get(field)?.as_f64());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some files have 1e30 for `unlimited`, which becomes the largest number"
            )]
            Ok(value.map(|value| value as usize))
        };
        let set = number(FILE, "max_seq_length")?;
        let limits = [
            number("tokenizer_config.json", "model_max_length")?,
            number("config.json", "max_position_embeddings")?,
        ];
        let found = set.or_else(|| limits.into_iter().flatten().min());
        let tokens = found.unwrap_or(Recipe::bundled().max_tokens).min(LONGEST_WINDOW);
        if tokens < SHORTEST_WINDOW {
            let found = format!("`max_seq_length` is {tokens}");
            return Err(self.refusal(FILE, found, "64 or more"));
        }
        Ok(tokens)
    }

    /// Vectors are compared by their angle. That is what most models are trained for; for the others
    /// the length of the vectors counts.
    fn check_similarity(&self, config: &Value, modules: &Modules) -> Result<(), LoadError> {
        let similarity = config.get("similarity_fn_name").and_then(Value::as_str);
        match similarity {
            None | Some("cosine") => Ok(()),
            Some("dot") if modules.normalizes => Ok(()),
            Some(other) => {
                let found = format!("`similarity_fn_name` is `{other}`");
                let supported = "`cosine`, or `dot` of normalised vectors";
                Err(self.refusal("config_sentence_transformers.json", found, supported))
            }
        }
    }

    fn refusal(&self, file: &str, found: String, supported: &'static str) -> LoadError {
        LoadError::Unsupported { path: self.0.join(file), found, supported }
    }

    fn json(&self, name: &str) -> Result<Option<Value>, LoadError> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        let json = serde_json::from_slice(&bytes);
        json.map(Some).map_err(|source| LoadError::Json { path: self.0.join(name), source })
    }

    fn require(&self, name: &str) -> Result<Vec<u8>, LoadError> {
        let path = self.0.join(name);
        std::fs::read(&path).map_err(|source| LoadError::Unreadable { path, source })
    }

    /// The content of a file; `None` if there is none.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, LoadError> {
        match self.require(name) {
            Err(LoadError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }
}

struct Modules {
    /// The folder of the pooling's settings.
    pooling: String,
    normalizes: bool,
}

/// The modes that are switched on: flags, or one name or several in newer files.
fn pooling_modes(config: &Value) -> Vec<String> {
    match config.get("pooling_mode") {
        Some(Value::String(mode)) => vec![mode.clone()],
        Some(Value::Array(modes)) => {
            modes.iter().map(|mode| mode.as_str().unwrap_or("?").to_owned()).collect()
        }
        _ => {
            let flags = config.as_object().into_iter().flatten();
            let on = flags.filter(|(_, value)| **value == Value::Bool(true));
            on.filter_map(|(name, _)| Some(name.strip_prefix("pooling_mode_")?.to_owned()))
                .collect()
        }
    }
}

/// The first of these prompts that the model has, or else its default one.
fn prompt<'a>(config: &'a Value, names: &[&str]) -> &'a str {
    let get = |name: &str| config.get("prompts")?.get(name)?.as_str();
    let default = || get(config.get("default_prompt_name")?.as_str()?);
    names.iter().find_map(|name| get(name)).or_else(default).unwrap_or_default()
}
