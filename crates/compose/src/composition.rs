//! The text of an artifact, made of its children's.

use serde_json::{Value, json};

use crate::Compose;
use crate::assemble::{ChildReport, ChildStatus};
use crate::config::{ArtifactConfig, Child, CompositionStrategy, Output, Piece, Retrieval};
use crate::error::{Error, Kind};
use crate::generate::GenerationStatus;
use crate::merge::{children, concat, merge};
use crate::model::{Context, Shown};

/// A composed artifact that is not written yet.
pub(crate) struct Composed {
    pub(crate) outputs: Vec<(Output, String)>,
    pub(crate) children: Vec<ChildReport>,
}

/// Which children are generated anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    AsNeeded,
    All,
    /// All, but nothing of it is kept.
    OnlyToLook,
}

impl Compose {
    /// The text of every output, in memory.
    pub(crate) fn compose(
        &self,
        config: &ArtifactConfig,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<Composed, Error> {
        let listed = &config.content.children;
        self.inner.limits.check_components(&config.id, listed.len())?;
        let mut ordered: Vec<&Child> = listed.iter().collect();
        ordered.sort_by_key(|child| child.order);
        let (mut texts, mut reports): (Vec<(String, String)>, Vec<ChildReport>) =
            Default::default();
        for child in ordered {
            match self.child(child, context, refresh) {
                Ok((text, report)) => {
                    texts.push((child.id.clone(), text));
                    reports.push(report);
                }
                Err(error) if child.required => {
                    return Err(Error::Child {
                        artifact: config.id.clone(),
                        child: child.id.clone(),
                        source: Box::new(error),
                    });
                }
                Err(error) => {
                    reports.push(report(child, ChildStatus::LeftOut, Vec::new(), Some(error)));
                }
            }
        }
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
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
    ) -> Result<String, Error> {
        match config.metadata.composition_strategy {
            CompositionStrategy::Concat => Ok(concat(texts.iter().map(|(_, text)| *text))),
            CompositionStrategy::Merge => merge(&output.format, texts),
            CompositionStrategy::Custom => Ok(custom(&config.content.custom, texts)),
            CompositionStrategy::Template => {
                let template = config.content.template.as_deref().unwrap_or_default();
                let mut seen = context.cloned().unwrap_or_default();
                seen.insert("children".to_owned(), Value::Object(children(texts)));
                let order: Vec<&str> = texts.iter().map(|(id, _)| *id).collect();
                seen.insert("order".to_owned(), json!(order));
                seen.insert("artifact".to_owned(), json!(config.metadata));
                seen.insert("output".to_owned(), json!(output));
                Ok(self.sandbox().render(&config.id, template, &seen)?.text)
            }
        }
    }

    fn child(
        &self,
        child: &Child,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<(String, ChildReport), Error> {
        if let Some(path) = &child.path {
            let text = self.inner.root.read(path, self.inner.limits.max_content_size_bytes)?;
            let text = text.ok_or_else(|| Error::not_found(Kind::File, path, []))?;
            return Ok((text, report(child, ChildStatus::File, Vec::new(), None)));
        }
        let status = match child.retrieval_strategy {
            Retrieval::Latest if refresh == Refresh::OnlyToLook => {
                let config = self.inner.configs.content(&child.id)?.config;
                let prepared = self.prepare(&config, self.child_context(&child.id, context)?)?;
                let text = self.run(&prepared)?.text;
                return Ok((text, report(child, ChildStatus::Generated, Vec::new(), None)));
            }
            Retrieval::Latest => Some(self.refresh(&child.id, context, refresh)?),
            _ => None,
        };
        let found = self.inner.versions.retrieve(&child.id, &child.retrieval_strategy)?;
        let texts: Vec<&str> =
            found.iter().filter_map(|version| version.content.as_deref()).collect();
        if texts.is_empty() {
            return Err(Error::NotGenerated { id: child.id.clone() });
        }
        let text = if let [only] = texts[..] { only.to_owned() } else { concat(texts) };
        let versions = found.into_iter().map(|version| version.version).collect();
        let status = status.unwrap_or(ChildStatus::Retrieved);
        Ok((text, report(child, status, versions, None)))
    }

    /// Brings the latest version of a child up to date.
    fn refresh(
        &self,
        id: &str,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<ChildStatus, Error> {
        let given = self.child_context(id, context)?;
        let made = self.generate(id, given, refresh == Refresh::All, None)?;
        Ok(match made.status {
            GenerationStatus::Generated => ChildStatus::Generated,
            GenerationStatus::Regenerated => ChildStatus::Regenerated,
            GenerationStatus::Skipped => ChildStatus::Unchanged,
        })
    }

    /// What was given, or what the child was generated with last.
    fn child_context(&self, id: &str, context: Option<&Context>) -> Result<Context, Error> {
        if let Some(context) = context {
            return Ok(context.clone());
        }
        Ok(self.inner.versions.latest(id)?.map(|last| last.context).unwrap_or_default())
    }
}

/// Children that are not to be had are passed over.
fn custom(pieces: &[Piece], texts: &[(&str, &str)]) -> String {
    let pieces = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(piece) => Some(piece.text.as_str()),
        Piece::Child(id) => texts.iter().find(|(known, _)| known == id).map(|(_, text)| *text),
    });
    concat(pieces)
}

fn report(
    child: &Child,
    status: ChildStatus,
    versions: Vec<String>,
    error: Option<Error>,
) -> ChildReport {
    ChildReport {
        id: child.id.clone(),
        required: child.required,
        status,
        versions,
        problem: error.map(|error| error.to_string()),
    }
}

impl Composed {
    /// All outputs, to look at.
    pub(crate) fn shown(&self) -> Shown {
        let texts: Vec<String> = self
            .outputs
            .iter()
            .map(|(output, text)| match self.outputs.len() {
                1 => text.clone(),
                _ => format!("--- {} ---\n{text}", output.file),
            })
            .collect();
        Shown::of(&texts.join("\n"))
    }
}
