//! Requests of one message that the server has not answered yet.

use crate::raw::{Object, id_key, items};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unanswered {
    /// As the client wrote them.
    ids: Vec<String>,
}

impl Unanswered {
    pub(super) fn new(ids: &[String]) -> Self {
        Self { ids: ids.to_vec() }
    }

    pub(super) fn ids(&self) -> &[String] {
        &self.ids
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Removes the requests that a message of the server answers, or a batch of messages.
    pub(super) fn settle(&mut self, text: &str) {
        match items(text) {
            Some(messages) => messages.into_iter().for_each(|message| self.settle_one(message)),
            None => self.settle_one(text.trim()),
        }
    }

    fn settle_one(&mut self, message: &str) {
        let Some(message) = Object::read(message) else { return };
        if message.get("method").is_none()
            && let Some(answered) = message.get("id").map(id_key)
        {
            self.ids.retain(|id| id_key(id) != answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[&str], message: &str, left: &[&str]) {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        let mut unanswered = Unanswered::new(&ids);
        unanswered.settle(message);
        assert_eq!(unanswered.ids, left, "{message}");
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
