//! JSON that is edited in place: what is not changed keeps its bytes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object in their order, values as they were written.
#[derive(Debug)]
pub(crate) struct Object<'a>(Vec<(Name<'a>, &'a RawValue)>);

/// A string without its escapes, borrowed if it has none.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'a> Object<'a> {
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        // The first byte decides most cases without an error being made.
        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
    }

    /// The value of a member; the last one where a name occurs twice, as most readers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().rev().find(|(other, _)| other.0 == name);
        found.map(|(_, value)| value.get())
    }

    /// Names and values, in their order.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.0.as_ref(), value.get()))
    }

    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        Object::read(self.get(name)?)
    }

    pub(crate) fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        string(self.get(name)?)
    }

    /// The object rewritten without the members of a name.
    pub(crate) fn without(&self, name: &str) -> String {
        let mut text = String::from("{");
        for (other, value) in self.0.iter().filter(|(other, _)| other.0 != name) {
            if text.len() > 1 {
                text.push(',');
            }
            text += &Value::from(other.0.as_ref()).to_string();
            text.push(':');
            text += value.get();
        }
        text.push('}');
        text
    }
}

/// A request's id as a key: equal ids have equal keys, however they are written.
pub(crate) fn id_key(id: &str) -> String {
    serde_json::from_str::<Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

/// The text of a JSON string.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(json).ok().map(|name| name.0)
}

/// The items of an array, as they were written.
pub(crate) fn items(text: &str) -> Option<Vec<&str>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The range of a text that a part of it covers.
pub(crate) fn place(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

/// The text with one of its parts replaced.
pub(crate) fn replaced(whole: &str, part: &str, by: &str) -> String {
    let place = place(whole, part);
    [&whole[..place.start], by, &whole[place.end..]].concat()
}

/// An object or array with one more entry at its end.
pub(crate) fn appended(container: &str, entry: &str) -> String {
    let container = container.trim();
    let (open, close) = (&container[..1], &container[container.len() - 1..]);
    let inner = container[1..container.len() - 1].trim_end();
    let comma = if inner.is_empty() { "" } else { "," };
    [open, inner, comma, entry, close].concat()
}
