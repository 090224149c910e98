//! How messages are answered that are not JSON-RPC.

use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

/// What can be read of a message that is malformed or nested too deeply further down.
#[derive(Deserialize, Default)]
struct Head {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

impl Head {
    /// The parser skips what it does not need without a limit on its depth.
    fn read(message: &[u8]) -> Self {
        serde_json::from_slice(message).unwrap_or_default()
    }
}

/// Whether the sender expects no answer. A message whose text cannot be parsed may be a request.
pub(crate) fn is_notification(message: &[u8]) -> bool {
    let head = Head::read(message);
    head.method.is_some() && head.id.is_none()
}

/// The answer to a message for which the parser gave this error, with the id if that can be read.
pub(crate) fn answer(message: &[u8], error: &serde_json::Error) -> ServerJsonRpcMessage {
    let error = match error.classify() {
        Category::Syntax | Category::Eof => {
            ErrorData::parse_error(format!("the message cannot be parsed as JSON: {error}"), None)
        }
        // The parser's error may quote the message, which may hold anything.
        Category::Data | Category::Io => ErrorData::invalid_request(
            "the message is neither a JSON-RPC 2.0 request nor a notification or response of MCP",
            None,
        ),
    };
    ServerJsonRpcMessage::error(error, Head::read(message).id)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientJsonRpcMessage;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(message: &str, code: i64, id: &Value) {
        let error = serde_json::from_str::<ClientJsonRpcMessage>(message).unwrap_err();
        let answer = serde_json::to_value(answer(message.as_bytes(), &error)).unwrap();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], *id, "{answer}");
    }

    #[test]
    fn unreadable_messages_are_answered_with_the_id_where_it_can_be_read() {
        let nested = |id: &str| {
            let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
            format!(
                r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"a":{open}{close}}}}}"#
            )
        };
        check(&nested(r#""id":7,"#), -32700, &json!(7));
        check(&nested(r#""id":"x","#), -32700, &json!("x"));
        check("{\"jsonrpc\":", -32700, &Value::Null);
        check("not JSON", -32700, &Value::Null);
        check("[]", -32600, &Value::Null);
        check("{\"id\": 3}", -32600, &json!(3));
        assert!(is_notification(nested("").as_bytes()));
        assert!(!is_notification(b"not JSON"));
    }
}
