//! A YAML file that holds one server and nothing else. It is written and removed whole, so that no
//! YAML has to be edited.

use serde_json::Value;

use super::config::Unusable;

pub(super) fn servers(text: &str, keys: &[String]) -> Result<Vec<(String, Value)>, Unusable> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let document: Value = serde_saphyr::from_str(text)
        .map_err(|error| Unusable(format!("it is not valid YAML: {error}")))?;
    let listed = keys.iter().try_fold(&document, |value, key| value.get(key));
    let Some(listed) = listed else { return Ok(Vec::new()) };
    let items =
        listed.as_array().ok_or_else(|| Unusable("its servers are not a list".to_owned()))?;
    let named = |item: &Value| Some((item.get("name")?.as_str()?.to_owned(), item.clone()));
    Ok(items.iter().filter_map(named).collect())
}
