//! Composes the outputs of an artifact from the texts of its children, in memory.

use serde_json::{Value, json};

use crate::Compose;
use crate::assemble::{ChildReport, ChildStatus};
use crate::config::{ArtifactConfig, Child, CompositionStrategy, Output, Piece, Retrieval};
use crate::error::{Error, Result};
use crate::generate::GenerationStatus;
use crate::merge::{concat, merge};
use crate::model::{Context, Shown};

/// A composed artifact that is not written yet.
pub(crate) struct Composed {
    pub(crate) outputs: Vec<(Output, String)>,
    pub(crate) children: Vec<ChildReport>,
}

/// Which children are generated again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    AsNeeded,
    All,
    /// All, and no version is stored.
    Preview,
}

impl Compose {
    pub(crate) fn compose(
        &self,
        config: &ArtifactConfig,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<Composed> {
        let listed = &config.content.children;
        self.inner.limits.check_components(&config.id, listed.len())?;
        let mut ordered: Vec<&Child> = listed.iter().collect();
        ordered.sort_by_key(|child| child.order);
        let (mut texts, mut reports) = (Vec::new(), Vec::new());
        for child in ordered {
            let (status, versions, problem) = match self.child(child, context, refresh) {
                Ok((text, status, versions)) => {
                    texts.push((child.id.as_str(), text));
                    (status, versions, None)
                }
                Err(error) if child.required => {
                    return Err(Error::Child {
                        artifact: config.id.clone(),
                        child: child.id.clone(),
                        source: Box::new(error),
                    });
                }
                Err(error) => (ChildStatus::LeftOut, Vec::new(), Some(error.to_string())),
            };
            let (id, required) = (child.id.clone(), child.required);
            reports.push(ChildReport { id, required, status, versions, problem });
        }
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(id, text)| (*id, text.as_str())).collect();
        let mut outputs = Vec::new();
        for output in &config.metadata.outputs {
            let text = self.composed(config, output, &texts, context)?;
            self.inner.limits.check_size(&format!("output `{}`", output.file), text.len())?;
            outputs.push((output.clone(), text));
        }
        Ok(Composed { outputs, children: reports })
    }

    fn composed(
        &self,
        config: &ArtifactConfig,
        output: &Output,
        texts: &[(&str, &str)],
        context: Option<&Context>,
    ) -> Result<String> {
        match config.metadata.composition_strategy {
            CompositionStrategy::Concat => Ok(concat(texts.iter().map(|(_, text)| *text))),
            CompositionStrategy::Merge => merge(&output.format, texts),
            CompositionStrategy::Custom => Ok(custom(&config.content.custom, texts)),
            CompositionStrategy::Template => {
                let template = config.content.template.as_deref().unwrap_or_default();
                let order: Vec<&str> = texts.iter().map(|(id, _)| *id).collect();
                let children = texts.iter().map(|(id, text)| ((*id).to_owned(), json!(text)));
                let mut values = context.cloned().unwrap_or_default();
                values.insert("children".to_owned(), Value::Object(children.collect()));
                values.insert("order".to_owned(), json!(order));
                values.insert("artifact".to_owned(), json!(config.metadata));
                values.insert("output".to_owned(), json!(output));
                Ok(self.sandbox().render(&config.id, template, &values)?.text)
            }
        }
    }

    /// The text of a child, where it comes from, and the versions that were used.
    fn child(
        &self,
        child: &Child,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<(String, ChildStatus, Vec<String>)> {
        if let Some(path) = &child.path {
            return Ok((self.required_file(path)?, ChildStatus::File, Vec::new()));
        }
        let status = match child.retrieval_strategy {
            Retrieval::Latest if refresh == Refresh::Preview => {
                let config = self.inner.configs.content(&child.id)?.config;
                let prepared = self.prepare(&config, self.child_context(&child.id, context)?)?;
                return Ok((self.run(&prepared)?.text, ChildStatus::Generated, Vec::new()));
            }
            Retrieval::Latest => {
                let given = self.child_context(&child.id, context)?;
                match self.generate(&child.id, given, refresh == Refresh::All, None)?.status {
                    GenerationStatus::Generated => ChildStatus::Generated,
                    GenerationStatus::Regenerated => ChildStatus::Regenerated,
                    GenerationStatus::Skipped => ChildStatus::Unchanged,
                }
            }
            _ => ChildStatus::Retrieved,
        };
        let found = self.inner.versions.retrieve(&child.id, &child.retrieval_strategy)?;
        let texts: Vec<&str> =
            found.iter().filter_map(|version| version.content.as_deref()).collect();
        if texts.is_empty() {
            return Err(Error::NotGenerated { id: child.id.clone() });
        }
        let text = if let [only] = texts[..] { only.to_owned() } else { concat(texts) };
        Ok((text, status, found.into_iter().map(|version| version.version).collect()))
    }

    /// The values of the request, or those of the child's latest version.
    fn child_context(&self, id: &str, context: Option<&Context>) -> Result<Context> {
        if let Some(context) = context {
            return Ok(context.clone());
        }
        Ok(self.inner.versions.latest(id)?.map(|last| last.context).unwrap_or_default())
    }
}

/// Children that were left out are skipped.
fn custom(pieces: &[Piece], texts: &[(&str, &str)]) -> String {
    let pieces = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(piece) => Some(piece.text.as_str()),
        Piece::Child(id) => texts.iter().find(|(known, _)| known == id).map(|(_, text)| *text),
    });
    concat(pieces)
}

impl Composed {
    /// An excerpt of all outputs.
    pub(crate) fn shown(&self) -> Shown {
        if let [(_, only)] = self.outputs.as_slice() {
            return Shown::of(only);
        }
        let texts = self.outputs.iter().map(|(output, text)| (&output.file, text));
        let texts: Vec<String> =
            texts.map(|(file, text)| format!("--- {file} ---\n{text}")).collect();
        Shown::of(&texts.join("\n"))
    }
}
