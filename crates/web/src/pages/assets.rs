//! The stylesheet, the script and the icon, part of the binary.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::routing::get;

const STYLE: &str = include_str!("../../assets/kenning.css");
const SCRIPT: &str = include_str!("../../assets/kenning.js");
const ICON: &str = include_str!("../../assets/kenning.svg");

/// Their addresses have a hash of what is in them, so that browsers may keep them for ever.
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: address(STYLE, "css"),
    script: address(SCRIPT, "js"),
    icon: address(ICON, "svg"),
});

fn address(text: &str, ending: &str) -> String {
    format!("/assets/kenning-{}.{ending}", &blake3::hash(text.as_bytes()).to_hex()[..16])
}

pub(super) fn routes() -> Router {
    Router::new()
        .route(&ASSETS.style, get(|| async { kept("text/css; charset=utf-8", STYLE) }))
        .route(&ASSETS.icon, get(|| async { kept("image/svg+xml", ICON) }))
        .route(&ASSETS.script, get(|| async { kept("text/javascript; charset=utf-8", SCRIPT) }))
}

type Kept = ([(header::HeaderName, HeaderValue); 3], &'static str);

fn kept(kind: &'static str, text: &'static str) -> Kept {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, text)
}
