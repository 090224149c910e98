//! One thing that can be asked: where, what it takes and gives, and the function behind it.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use kenning_registry::Revision;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::site::Rooms;
use crate::token::Scope;

/// The longest word in an address, in characters: however it is encoded, the address is read.
pub(crate) const MAX_WORD: u64 = 5_000;

pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With `{name}` where an argument stands in it.
    pub(crate) path: &'static str,
    /// The name of the tool that does the same, where there is one.
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) success: StatusCode,
    pub(crate) refusals: &'static [u16],
    pub(crate) versioned: bool,
    /// Whether it changes nothing although its arguments need a body.
    pub(crate) only_looks: bool,
    /// The schema of all arguments together.
    pub(crate) takes: Map<String, Value>,
    pub(crate) gives: Value,
    pub(crate) refused: Value,
    pub(crate) run: Run,
}

type Run = Arc<dyn Fn(&Rooms, Call<Map<String, Value>>) -> Result<Given, Refusal> + Send + Sync>;

/// A request, understood.
pub(crate) struct Call<Request> {
    pub(crate) request: Request,
    /// The revision that the caller saw, if it makes its change only to that one.
    pub(crate) expected: Option<Revision>,
}

/// An answer, and which revision it is about where that is counted.
pub(crate) struct Answer<Response> {
    pub(crate) body: Response,
    pub(crate) revision: Option<Revision>,
}

impl<Response> From<Response> for Answer<Response> {
    fn from(body: Response) -> Self {
        Self { body, revision: None }
    }
}

/// An answer, ready to be sent.
pub(crate) struct Given {
    pub(crate) body: Vec<u8>,
    pub(crate) revision: Option<Revision>,
}

/// What a contract says about a request that cannot be done.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

/// A room's error, as it looks over HTTP.
pub(crate) trait Fault {
    /// What all errors of this kind look like.
    type Body: JsonSchema;

    /// The arguments do not fit the schema.
    fn malformed(argument: &str, problem: String) -> Refusal;

    fn refusal(self) -> Refusal;
}

impl Operation {
    pub(crate) fn new<Request, Response, F>(
        method: Method,
        path: &'static str,
        name: &'static str,
        run: fn(&Rooms, &Call<Request>) -> Result<Answer<Response>, F>,
    ) -> Self
    where
        Request: DeserializeOwned + JsonSchema + 'static,
        Response: Serialize + JsonSchema + 'static,
        F: Fault + 'static,
    {
        let run = move |rooms: &Rooms, call: Call<Map<String, Value>>| {
            let Call { request, expected } = call;
            let call = Call { request: parse::<Request, F>(request)?, expected };
            let answer = run(rooms, &call).map_err(F::refusal)?;
            let body = serde_json::to_string(&answer.body).expect("answers are plain JSON");
            let body =
                kenning_sanitize::sanitize_json(&body).map_or(body, |shown| shown.to_string());
            Ok(Given { body: body.into_bytes(), revision: answer.revision })
        };
        let takes = schema::<Request>(SchemaSettings::draft2020_12().for_deserialize());
        Self {
            method,
            path,
            name,
            group: "",
            summary: "",
            success: StatusCode::OK,
            refusals: &[],
            versioned: false,
            only_looks: false,
            takes: takes.as_object().cloned().unwrap_or_default(),
            gives: schema::<Response>(SchemaSettings::draft2020_12().for_serialize()),
            refused: schema::<F::Body>(SchemaSettings::draft2020_12().for_serialize()),
            run: Arc::new(run),
        }
    }

    pub(crate) fn reads(&self) -> bool {
        self.method == Method::GET
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.reads() || self.only_looks { Scope::Read } else { Scope::Write }
    }

    /// Whether arguments that are not in the path come in a body.
    pub(crate) fn has_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PATCH
    }

    pub(crate) fn in_path(&self, argument: &str) -> bool {
        self.path.contains(&format!("{{{argument}}}"))
    }

    /// The argument's own schema.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.takes.get("properties")?.get(name)
    }

    /// What a word in an address stands for, as its schema has it.
    pub(crate) fn typed(&self, name: &str, word: &str) -> Value {
        let as_it_is = || Value::from(word);
        if self.is(name, "integer") {
            let whole = word.strip_suffix(".0").unwrap_or(word);
            let number = whole.parse::<i64>().map(Value::from);
            let number = number.or_else(|_| whole.parse::<u64>().map(Value::from));
            return number.unwrap_or_else(|_| as_it_is());
        }
        if self.is(name, "boolean") {
            return word.parse::<bool>().map_or_else(|_| as_it_is(), Value::from);
        }
        as_it_is()
    }

    /// Whether an argument may stand in an address several times, once for each entry.
    pub(crate) fn is_list(&self, name: &str) -> bool {
        !self.has_body() && self.is(name, "array")
    }

    /// `11.0` is an integer in JSON.
    pub(crate) fn with_integers(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let whole = |name: &str, value: Value| match value.as_f64() {
            Some(number) if value.is_f64() && self.is(name, "integer") && number.fract() == 0.0 => {
                format!("{number:.0}").parse::<i64>().map_or(value, Value::from)
            }
            _ => value,
        };
        arguments.into_iter().map(|(name, value)| (name.clone(), whole(&name, value))).collect()
    }

    fn is(&self, argument: &str, wanted: &str) -> bool {
        match self.argument(argument).and_then(|schema| schema.get("type")) {
            Some(Value::String(kind)) => kind == wanted,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        }
    }
}

fn parse<Request: DeserializeOwned, F: Fault>(
    arguments: Map<String, Value>,
) -> Result<Request, Refusal> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|fault| {
        let path = fault.path().to_string();
        let argument = if path == "." { "request" } else { &path };
        F::malformed(argument, fault.inner().to_string())
    })
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}
