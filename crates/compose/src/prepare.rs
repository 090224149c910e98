//! What a generation needs, found and checked before anything is generated.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::Compose;
use crate::config::{ContentConfig, Pattern, SourceInput};
use crate::error::{Error, Kind};
use crate::generator::{Generator, Selection, fill_value, select};
use crate::model::{Context, hash};
use crate::sources::{self, NAMES};

/// All that a generation needs, found and checked before anything is generated.
pub(crate) struct Prepared<'a> {
    pub(crate) config: &'a ContentConfig,
    pub(crate) parts: Vec<Part>,
    /// What the request gave.
    pub(crate) given: Context,
    /// What generators see.
    pub(crate) context: Context,
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
    /// Finds all that is needed. What is missing is an error before anything has run.
    pub(crate) fn prepare<'a>(
        &self,
        config: &'a ContentConfig,
        given: Context,
    ) -> Result<Prepared<'a>, Error> {
        let size = serde_json::to_string(&given).map_or(usize::MAX, |text| text.len());
        self.inner.limits.check_size("the context", size)?;
        let mut context = with_defaults(config, &given)?;
        let parts = self.parts(config)?;
        let (read, warnings) = self.read_sources(config, &mut context)?;
        let mut inputs = json!({
            "patterns": config.generation.patterns,
            "elements": config.elements,
            "format": config.metadata.output_format,
            "templates": parts.iter().map(|part| &part.template).collect::<Vec<_>>(),
            "generators": parts.iter().map(|part| part.generator.fingerprint()).collect::<Vec<_>>(),
            "context": context,
        });
        inputs.sort_all_objects();
        Ok(Prepared {
            config,
            parts,
            given,
            context,
            sources: read,
            inputs_hash: hash(&inputs.to_string()),
            warnings,
        })
    }

    /// The generator of each pattern of a content config, whether or not it can be used here.
    pub fn selections(&self, config: &ContentConfig) -> Result<Vec<Selection>, Error> {
        let patterns = config.generation.patterns.iter();
        patterns.map(|pattern| Ok(self.chosen(config, pattern)?.0)).collect()
    }

    fn parts(&self, config: &ContentConfig) -> Result<Vec<Part>, Error> {
        let parts = config.generation.patterns.iter().map(|pattern| {
            let (selection, template) = self.chosen(config, pattern)?;
            let generator = self.inner.generators.ready(&selection)?;
            Ok(Part { generator, selection, template })
        });
        parts.collect()
    }

    /// A pattern's generator and its template, wherever that lies.
    pub(crate) fn chosen(
        &self,
        config: &ContentConfig,
        pattern: &Pattern,
    ) -> Result<(Selection, Option<String>), Error> {
        let template = match &pattern.template_file {
            None => pattern.template.clone(),
            Some(path) => {
                let text = self.inner.root.read(path, self.inner.limits.max_content_size_bytes)?;
                Some(text.ok_or_else(|| Error::not_found(Kind::File, path, []))?)
            }
        };
        Ok((select(pattern, template.as_deref(), &config.elements), template))
    }

    /// Puts what the sources say into the context. What the request gave is there already.
    fn read_sources(
        &self,
        config: &ContentConfig,
        context: &mut Context,
    ) -> Result<(Vec<String>, Vec<String>), Error> {
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

    fn read_source(
        &self,
        id: &str,
        input: &SourceInput,
        context: &Context,
    ) -> Result<Value, Error> {
        let failed = |problem: String| Error::Source {
            id: id.to_owned(),
            name: input.source.clone(),
            problem,
        };
        let max = self.inner.limits.max_content_size_bytes;
        let params = fill_value(&Value::Object(input.params.clone()), context, max)
            .map_err(|fault| fault.into_error(id))?;
        let value = match (input.source.as_str(), &params) {
            ("file", Value::Object(params)) => sources::read_file(&self.inner.root, params, max)?,
            (name, params) if NAMES.contains(&name) => {
                let read = self.inner.sources.read(name, params);
                read.map_err(|error| failed(error.to_string()))?
            }
            (name, _) => return Err(failed(format!("there is no source `{name}`"))),
        };
        self.inner
            .limits
            .check_size(&format!("what source `{}` says", input.source), value.to_string().len())?;
        Ok(value)
    }
}

impl Prepared<'_> {
    pub(crate) fn generators(&self) -> Vec<String> {
        let mut types: Vec<String> =
            self.parts.iter().map(|part| part.selection.generator_type.clone()).collect();
        types.dedup();
        types
    }
}

/// What was given, and the defaults of variables that were not. None that is required is missing.
fn with_defaults(config: &ContentConfig, given: &Context) -> Result<Context, Error> {
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
