//! Requests whose answers are still to come.

use serde_json::Value;

use crate::raw::{Object, items};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// As they were written.
    ids: Vec<String>,
}

impl Awaited {
    pub(crate) fn new(ids: &[String]) -> Self {
        Self { ids: ids.to_vec() }
    }

    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Looks at what the server says, one message or several.
    pub(crate) fn hear(&mut self, text: &str) {
        match items(text) {
            Some(messages) => messages.into_iter().for_each(|message| self.hear_one(message)),
            None => self.hear_one(text.trim()),
        }
    }

    fn hear_one(&mut self, message: &str) {
        let Some(message) = Object::read(message) else { return };
        if message.get("method").is_none()
            && let Some(answered) = message.get("id").map(plain)
        {
            self.ids.retain(|id| plain(id) != answered);
        }
    }
}

/// One id, however it is written.
fn plain(id: &str) -> Option<Value> {
    serde_json::from_str(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[&str], said: &str, left: &[&str]) {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        let mut awaited = Awaited::new(&ids);
        awaited.hear(said);
        assert_eq!(awaited.ids, left, "{said}");
    }

    #[test]
    fn an_answer_has_the_requests_id_and_no_method() {
        check(&["1"], r#"{"id":1,"result":{}}"#, &[]);
        check(&["\"a\""], r#" {"error":{},"id":"\u0061"} "#, &[]);
        check(&["1", "2", "3"], r#"[{"id":1,"result":{}},{"id":3,"result":{}}, 7]"#, &["2"]);
        check(&["1"], r#"{"id":1,"method":"sampling/createMessage"}"#, &["1"]);
        check(&["1"], r#"{"id":"1","result":{}}"#, &["1"]);
        check(&["1"], "not json", &["1"]);
    }
}
