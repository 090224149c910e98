//! Resolves and checks all inputs of a generation before any generator runs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::Compose;
use crate::config::{ContentConfig, Pattern, SourceInput};
use crate::error::{Error, Result};
use crate::generator::{Generator, Selection, fill_value, select};
use crate::model::{Context, hash};
use crate::sources::NAMES;

/// A generation whose inputs are complete.
pub(crate) struct Prepared<'a> {
    pub(crate) config: &'a ContentConfig,
    pub(crate) parts: Vec<Part>,
    /// The values of the request.
    pub(crate) given: Context,
    /// The values of the request, defaults, and data of the sources.
    pub(crate) context: Context,
    /// Ids of the sources that were read.
    pub(crate) sources: Vec<String>,
    pub(crate) inputs_hash: String,
    pub(crate) warnings: Vec<String>,
}

pub(crate) struct Part {
    pub(crate) generator: Arc<dyn Generator>,
    pub(crate) selection: Selection,
    pub(crate) template: Option<String>,
}

impl Compose {
    pub(crate) fn prepare<'a>(
        &self,
        config: &'a ContentConfig,
        given: Context,
    ) -> Result<Prepared<'a>> {
        let size = serde_json::to_string(&given).map_or(usize::MAX, |text| text.len());
        self.inner.limits.check_size("the context", size)?;
        let mut context = with_defaults(config, &given)?;
        let parts = self.parts(config)?;
        let (sources, warnings) = self.read_sources(config, &mut context)?;
        let mut inputs = json!({
            "patterns": config.generation.patterns,
            "elements": config.elements,
            "format": config.metadata.output_format,
            "templates": parts.iter().map(|part| &part.template).collect::<Vec<_>>(),
            "generators": parts.iter().map(|part| part.generator.fingerprint()).collect::<Vec<_>>(),
            "context": context,
        });
        inputs.sort_all_objects();
        let inputs_hash = hash(&inputs.to_string());
        Ok(Prepared { config, parts, given, context, sources, inputs_hash, warnings })
    }

    /// The generator of each pattern of a content config, whether or not it can be used here.
    pub fn selections(&self, config: &ContentConfig) -> Result<Vec<Selection>> {
        let patterns = config.generation.patterns.iter();
        patterns.map(|pattern| Ok(self.resolve(config, pattern)?.0)).collect()
    }

    fn parts(&self, config: &ContentConfig) -> Result<Vec<Part>> {
        let parts = config.generation.patterns.iter().map(|pattern| {
            let (selection, template) = self.resolve(config, pattern)?;
            let generator = self.inner.generators.ready(&selection)?;
            Ok(Part { generator, selection, template })
        });
        parts.collect()
    }

    /// A pattern's generator and its template, read from its file if it has one.
    pub(crate) fn resolve(
        &self,
        config: &ContentConfig,
        pattern: &Pattern,
    ) -> Result<(Selection, Option<String>)> {
        let template = match &pattern.template_file {
            None => pattern.template.clone(),
            Some(path) => Some(self.required_file(path)?),
        };
        Ok((select(pattern, template.as_deref(), &config.elements), template))
    }

    /// Adds the data of the sources to the context. A value of the request replaces its source.
    fn read_sources(
        &self,
        config: &ContentConfig,
        context: &mut Context,
    ) -> Result<(Vec<String>, Vec<String>)> {
        let (mut read, mut warnings) = (Vec::new(), Vec::new());
        for input in config.inputs.iter().flat_map(|inputs| &inputs.sources) {
            if context.contains_key(&input.id) {
                continue;
            }
            let value = match self.read_source(&config.id, input, context) {
                Ok(value) => {
                    read.push(input.id.clone());
                    value
                }
                Err(error) if input.required => return Err(error),
                Err(error) => {
                    warnings.push(error.to_string());
                    Value::Null
                }
            };
            context.insert(input.id.clone(), value);
        }
        Ok((read, warnings))
    }

    fn read_source(&self, id: &str, input: &SourceInput, context: &Context) -> Result<Value> {
        let name = input.source.as_str();
        let failed = |problem| Error::Source { id: id.to_owned(), name: name.to_owned(), problem };
        let limits = &self.inner.limits;
        let params = Value::Object(input.params.clone());
        let params = fill_value(id, &params, context, limits.max_content_size_bytes)?;
        let value = match name {
            "file" => self.read_file_source(&params)?,
            _ if NAMES.contains(&name) => {
                let read = self.inner.sources.read(name, &params);
                read.map_err(|error| failed(error.to_string()))?
            }
            _ => return Err(failed(format!("there is no source `{name}`"))),
        };
        limits.check_size(&format!("what source `{name}` says"), value.to_string().len())?;
        Ok(value)
    }
}

/// Adds the defaults of variables that were not given. Fails if a required one has no value.
fn with_defaults(config: &ContentConfig, given: &Context) -> Result<Context> {
    let mut context = given.clone();
    let variables = || config.generation.patterns.iter().flat_map(|pattern| &pattern.variables);
    for variable in variables() {
        if let (Some(default), false) = (&variable.default, context.contains_key(&variable.name)) {
            context.insert(variable.name.clone(), default.clone());
        }
    }
    let missing = variables()
        .filter(|variable| variable.required && !context.contains_key(&variable.name))
        .map(|variable| variable.name.clone());
    let names: Vec<String> = missing.collect();
    if names.is_empty() {
        return Ok(context);
    }
    Err(Error::MissingVariables { id: config.id.clone(), names })
}
