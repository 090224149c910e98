//! The stylesheet, the script and the icon, compiled into the binary.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::routing::get;

const STYLE: &str = include_str!("../../assets/kenning.css");
const SCRIPT: &str = include_str!("../../assets/kenning.js");
const ICON: &str = include_str!("../../assets/kenning.svg");

/// The addresses contain a hash of the content, so that browsers may cache them forever.
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

fn address(content: &str, extension: &str) -> String {
    format!("/assets/kenning-{}.{extension}", &blake3::hash(content.as_bytes()).to_hex()[..16])
}

pub(super) fn routes() -> Router {
    Router::new()
        .route(&ASSETS.style, get(|| async { immutable("text/css; charset=utf-8", STYLE) }))
        .route(&ASSETS.icon, get(|| async { immutable("image/svg+xml", ICON) }))
        .route(
            &ASSETS.script,
            get(|| async { immutable("text/javascript; charset=utf-8", SCRIPT) }),
        )
}

type Asset = ([(header::HeaderName, HeaderValue); 3], &'static str);

fn immutable(content_type: &'static str, content: &'static str) -> Asset {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, content)
}
