//! Reading bodies and queries, within bounds.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;

use crate::connections::came_too_late;
use crate::problem::Problem;

/// The largest body of a request, in bytes.
pub(crate) const MAX_BODY: usize = 4 * 1024 * 1024;
/// Beyond this the rest of a body that is too large is not even read.
const MAX_DISCARDED: usize = 128 * 1024 * 1024;

/// The pairs of a query, which must be UTF-8.
pub(crate) fn query(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        let decoded = percent_decode_str(&text).decode_utf8().map(Cow::into_owned);
        decoded.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the query is not UTF-8"))
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

/// The whole body, if it is not too large and arrives in time.
///
/// Most clients read the response only after they have sent everything, so the rest of a body that
/// is too large is read and discarded, up to a point.
pub(crate) async fn read(mut body: Body, max: usize) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut size) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(failed)?;
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size <= max {
            bytes.extend_from_slice(&data);
        } else if size > MAX_DISCARDED {
            break;
        }
    }
    if size > max {
        let detail = format!("the body is larger than {max} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(bytes)
}

fn failed(error: axum::Error) -> Problem {
    if came_too_late(error) {
        return Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    }
    Problem::new(StatusCode::BAD_REQUEST, "the body is cut off")
}
