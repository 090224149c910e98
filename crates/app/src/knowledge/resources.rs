//! `knowledge://base/path#node`: files and their sections.

use std::borrow::Cow;
use std::collections::HashMap;

use kenning_knowledge::{Base, NodeRef, Snapshot};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::json;

use crate::limiter::Workload;
use crate::operation::JsonObject;
use crate::resource::{Contents, Family, Parameter, ReadError, Resource, ResourceFamily, Template};
use crate::services::Services;
use crate::state::AppState;
use crate::toolset::Toolset;

const SCHEME: &str = "knowledge";
const MARKDOWN: &str = "text/markdown";
const FILE: &str = "knowledge://{base}/{+path}";
const SECTION: &str = "knowledge://{base}/{+path}#{node}";

/// Characters that are delimiters in a URI, or not allowed there.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'[')
    .add(b']');

static FAMILY: Family = Family {
    scheme: SCHEME,
    toolset: Some(Toolset::Knowledge),
    description: "A Markdown file of a knowledge base, or one section of it with all below",
    templates: &[
        Template {
            uri: FILE,
            name: "knowledge_file",
            title: "Knowledge base file",
            description: "A file of a knowledge base, as it was written",
            mime_type: MARKDOWN,
        },
        Template {
            uri: SECTION,
            name: "knowledge_section",
            title: "Section of a knowledge base file",
            description: "One section and all below it; `node` is the section's id, the part \
                              of it below the file's id, or its heading as a slug",
            mime_type: MARKDOWN,
        },
    ],
    parameters: &[
        Parameter::new("base", "Name of a knowledge base"),
        Parameter::new("path", "Path of a file within the base, such as guides/SETUP.md"),
        Parameter::new(
            "node",
            "A section: its id, the part of it below the file's id, or its heading as a slug",
        ),
    ],
    is_live: false,
    workload: Workload::Local,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct KnowledgeResources;

impl ResourceFamily for KnowledgeResources {
    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let snapshot = services.library.snapshot();
        let names: Vec<&str> = snapshot.bases().map(Base::name).collect();
        let place =
            |base: &str, path: &str| (names.iter().position(|name| *name == base), path.to_owned());
        // The cursor's file may be gone by now; its place in the order is not.
        let last = after.and_then(|uri| address(uri).ok()).map(|at| place(&at.base, &at.path));
        let roots = snapshot.roots().filter(|root| {
            last.as_ref().is_none_or(|last| place(root.base().name(), &root.path()) > *last)
        });
        roots.take(limit).map(describe).collect()
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let at = address(uri)?;
        let snapshot = state.services.library.snapshot();
        let node = snapshot.locate(&at.base, &at.path, at.fragment.as_deref())?;
        let meta = Some(meta(node));
        Ok(Contents { meta, ..Contents::new(uri, MARKDOWN, node.source()) })
    }

    /// A file, and a section.
    fn examples(&self, services: &Services) -> Vec<String> {
        let snapshot = services.library.snapshot();
        let uri = |node: NodeRef<'_>| file_uri(node.base().name(), node.document().path.as_str());
        let file = snapshot.roots().next().map(uri);
        let section = snapshot.nodes().find_map(|node| {
            Some(format!("{}#{}", uri(node), utf8_percent_encode(node.anchor()?, ESCAPED)))
        });
        file.into_iter().chain(section).collect()
    }

    fn complete(
        &self,
        services: &Services,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String> {
        let snapshot = services.library.snapshot();
        match argument {
            "base" => snapshot.bases().map(|base| base.name().to_owned()).collect(),
            "path" => {
                let base = chosen.get("base");
                let in_base = |root: &NodeRef<'_>| base.is_none_or(|b| root.base().name() == b);
                snapshot.roots().filter(in_base).map(NodeRef::path).collect()
            }
            "node" => anchors(&snapshot, chosen),
            _ => Vec::new(),
        }
    }
}

fn anchors(snapshot: &Snapshot, chosen: &HashMap<String, String>) -> Vec<String> {
    let fits = |node: &NodeRef<'_>| {
        chosen.get("base").is_none_or(|base| node.base().name() == base)
            && chosen.get("path").is_none_or(|path| node.document().path.as_str() == path)
    };
    let nodes = snapshot.nodes().filter(fits);
    nodes.filter_map(NodeRef::anchor).map(str::to_owned).collect()
}

fn describe(root: NodeRef<'_>) -> Resource {
    Resource {
        title: Some(root.title().to_owned()),
        size: Some(root.source().len() as u64),
        meta: Some(meta(root)),
        ..Resource::new(file_uri(root.base().name(), &root.path()), root.path(), MARKDOWN)
    }
}

fn meta(node: NodeRef<'_>) -> JsonObject {
    let mut meta = JsonObject::new();
    meta.insert("id".to_owned(), json!(node.id()));
    meta.insert("type".to_owned(), json!(node.kind()));
    meta.insert("status".to_owned(), json!(node.status()));
    if let Some(checked) = &node.section().last_checked {
        meta.insert("last_checked".to_owned(), json!(checked));
    }
    meta
}

/// The URI of a file.
pub fn file_uri(base: &str, path: &str) -> String {
    let escaped = |text| utf8_percent_encode(text, ESCAPED);
    format!("{SCHEME}://{}/{}", escaped(base), escaped(path))
}

#[derive(Debug, PartialEq, Eq)]
struct Address {
    base: String,
    path: String,
    fragment: Option<String>,
}

/// Splits a URI and decodes its parts. Whether the path is valid is decided by the knowledge base,
/// after decoding.
fn address(uri: &str) -> Result<Address, ReadError> {
    let malformed = |reason: &str| ReadError {
        message: format!("`{uri}` is not a knowledge URI: {reason}"),
        hint: format!("URIs look like `{SCHEME}://base/guides/SETUP.md#linux`"),
    };
    let rest = uri
        .strip_prefix(SCHEME)
        .and_then(|rest| rest.strip_prefix("://"))
        .ok_or_else(|| malformed("it has another scheme"))?;
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (rest, None),
    };
    let (base, path) = rest.split_once('/').ok_or_else(|| malformed("it names no file"))?;
    let decode = |part: &str| {
        let decoded = percent_decode_str(part).decode_utf8().map(Cow::into_owned);
        decoded.map_err(|_| malformed("it does not decode to UTF-8"))
    };
    Ok(Address {
        base: decode(base)?,
        path: decode(path)?,
        fragment: fragment.map(decode).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uris_are_split_and_decoded() {
        let at = address("knowledge://team/a%20b/C.md#x.y").unwrap();
        let expected =
            Address { base: "team".into(), path: "a b/C.md".into(), fragment: Some("x.y".into()) };
        assert_eq!(at, expected);
        for uri in ["file:///etc/passwd", "knowledge:/x/y", "knowledge://base", "knowledge://b/%ff"]
        {
            assert!(address(uri).is_err(), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn uris_of_files_lead_back_to_them(path in "[^/\\x00]{1,8}(/[^/\\x00]{1,8}){0,3}") {
            let at = address(&file_uri("base", &path)).unwrap();
            prop_assert_eq!(at, Address { base: "base".into(), path, fragment: None });
        }
    }
}
