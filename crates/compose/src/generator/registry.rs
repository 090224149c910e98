//! The generators that are available now: built in, and plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use super::code::{CodeGeneration, Model};
use super::demonstration::Demonstration;
use super::fill::TemplateFill;
use super::gherkin::BddScenarioAssembly;
use super::jinja::Jinja2;
use super::metadata::{Metadata, Source};
use super::plugin::Plugins;
use super::select::{self, Selection};
use super::{Generated, Generator, Job};
use crate::error::{Error, Kind, Result};

/// Tells which credentials are set. This crate never reads their values.
pub trait Credentials: Send + Sync {
    fn is_set(&self, name: &str) -> bool;
}

/// No credential is set.
#[derive(Debug, Clone, Copy)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn is_set(&self, _: &str) -> bool {
        false
    }
}

impl Credentials for std::collections::BTreeSet<String> {
    fn is_set(&self, name: &str) -> bool {
        self.contains(name)
    }
}

/// All generators, as `capabilities://generators` shows them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Listing {
    /// By type
    pub generators: BTreeMap<String, Metadata>,
    /// Built in, but not to be used here
    pub absent: Vec<Absent>,
    pub selection_strategy: Strategy,
    pub metadata: Counts,
    /// Plugins that could not be read, and why
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Absent {
    #[serde(rename = "type")]
    pub generator_type: String,
    pub reason: String,
    /// Credentials that are not set
    pub missing: Vec<String>,
    /// Where to read what it would do
    pub docs_uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Strategy {
    #[serde(rename = "type")]
    pub strategy_type: String,
    pub explanation: String,
    pub fallback: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub version: String,
    pub generator_count: usize,
    pub builtin_count: usize,
    pub plugin_count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// Its file's name
    pub plugin: String,
    pub problem: String,
}

pub(crate) struct Generators {
    builtin: Vec<Arc<dyn Generator>>,
    has_model: bool,
    plugins: Plugins,
    credentials: Arc<dyn Credentials>,
    /// Locked while a generator runs that is not safe to run concurrently.
    exclusive: Mutex<()>,
}

impl Generators {
    pub(crate) fn new(
        model: Option<Arc<dyn Model>>,
        credentials: Arc<dyn Credentials>,
        plugins: Option<PathBuf>,
    ) -> Self {
        let has_model = model.is_some();
        let builtin: Vec<Arc<dyn Generator>> = vec![
            Arc::new(Jinja2),
            Arc::new(TemplateFill),
            Arc::new(Demonstration),
            Arc::new(BddScenarioAssembly),
            Arc::new(CodeGeneration { model }),
        ];
        let plugins = Plugins::new(plugins);
        Self { builtin, has_model, plugins, credentials, exclusive: Mutex::new(()) }
    }

    pub(crate) fn takes_plugins(&self) -> bool {
        self.plugins.has_folder()
    }

    fn all(&self) -> (Vec<Arc<dyn Generator>>, Vec<Diagnostic>) {
        let scan = self.plugins.scan(&types(&self.builtin));
        let generators = self.builtin.iter().cloned().chain(scan.generators).collect();
        (generators, scan.diagnostics)
    }

    pub(crate) fn list(&self) -> Listing {
        let (all, diagnostics) = self.all();
        let mut generators = BTreeMap::new();
        let mut absent = Vec::new();
        for metadata in all.iter().map(|generator| generator.metadata()) {
            match self.unavailable(&metadata) {
                None => {
                    generators.insert(metadata.generator_type.clone(), metadata);
                }
                Some((reason, missing)) => absent.push(Absent {
                    generator_type: metadata.generator_type,
                    reason,
                    missing,
                    docs_uri: metadata.docs_uri,
                }),
            }
        }
        let plugins = |one: &&Metadata| one.source == Source::Plugin;
        let plugin_count = generators.values().filter(plugins).count();
        Listing {
            metadata: Counts {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                generator_count: generators.len(),
                builtin_count: generators.len() - plugin_count,
                plugin_count,
            },
            generators,
            absent,
            selection_strategy: Strategy {
                strategy_type: "priority".to_owned(),
                explanation: select::EXPLANATION.to_owned(),
                fallback: select::FALLBACK.to_owned(),
            },
            diagnostics,
        }
    }

    /// A generator, whether or not it can be used here.
    pub(crate) fn describe(&self, generator_type: &str) -> Result<Metadata> {
        self.find(generator_type).map(|generator| generator.metadata())
    }

    fn find(&self, generator_type: &str) -> Result<Arc<dyn Generator>> {
        let (all, _) = self.all();
        let of_type = |one: &&Arc<dyn Generator>| one.metadata().generator_type == generator_type;
        if let Some(found) = all.iter().find(of_type) {
            return Ok(found.clone());
        }
        Err(Error::not_found(Kind::Generator, generator_type, &types(&all)))
    }

    /// The generator of a selection, if its credentials and model are present. Checked for every
    /// pattern before any of them runs.
    pub(crate) fn ready(&self, selection: &Selection) -> Result<Arc<dyn Generator>> {
        let generator = self.find(&selection.generator_type)?;
        match self.unavailable(&generator.metadata()) {
            None => Ok(generator),
            Some((reason, missing)) => Err(Error::Unavailable {
                generator: selection.generator_type.clone(),
                reason,
                missing,
            }),
        }
    }

    /// The reason why a generator cannot be used, and the missing credentials.
    fn unavailable(&self, metadata: &Metadata) -> Option<(String, Vec<String>)> {
        let upstream = metadata.upstream_dependencies.as_ref()?;
        let required = upstream.credentials_required.iter();
        let missing: Vec<String> =
            required.filter(|name| !self.credentials.is_set(name)).cloned().collect();
        if !missing.is_empty() {
            let names = crate::error::quoted(&missing);
            return Some((format!("{names} is not set"), missing));
        }
        (!self.has_model).then(|| ("no model is set up".to_owned(), Vec::new()))
    }

    pub(crate) fn run(&self, generator: &dyn Generator, job: &Job<'_>) -> Result<Generated> {
        let upstream = generator.metadata().upstream_dependencies;
        let exclusive = upstream.is_some_and(|upstream| !upstream.concurrency_safe);
        let _lock =
            exclusive.then(|| self.exclusive.lock().unwrap_or_else(PoisonError::into_inner));
        generator.generate(job)
    }
}

fn types(generators: &[Arc<dyn Generator>]) -> Vec<String> {
    generators.iter().map(|generator| generator.metadata().generator_type).collect()
}
