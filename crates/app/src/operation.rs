//! An operation: one thing that can be asked, with everything there is to know about it.

use std::sync::Arc;

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Context, Surface};
use crate::fault::{CommonError, Fault, OperationError, UNAVAILABLE, status};
use crate::limiter::Workload;
use crate::route::Route;
use crate::schema;
use crate::services::Services;
use crate::toolset::Toolset;

pub type JsonObject = Map<String, Value>;

/// One operation of the inventory. Made by [`Operation::read`], [`Operation::write`] or
/// [`Operation::delete`] and completed by the methods below them.
#[derive(Clone)]
pub struct Operation {
    pub name: &'static str,
    pub toolset: Toolset,
    /// What it is for, where its toolset does not say enough.
    category: Option<&'static str>,
    pub effect: Effect,
    pub repeats: Repeats,
    pub reach: Reach,
    pub workload: Workload,
    /// How models see it; `None` if it is not offered as a tool.
    pub tool: Option<ToolText>,
    /// Where it is reached over HTTP, if it is.
    pub route: Option<Route>,
    pub examples: Vec<Example>,
    /// The errors to expect besides [`UNAVAILABLE`].
    pub errors: &'static [CommonError],
    /// The request's schema, as strict MCP clients accept it.
    pub input_schema: Arc<JsonObject>,
    /// The answer's schema; `None` if the answer is plain text.
    pub output_schema: Option<Arc<JsonObject>>,
    schemas: Schemas,
    /// Whether some of its calls take microseconds, which [`Work::is_quick`] tells.
    pub(crate) has_quick_calls: bool,
    prepare: Prepare,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds or updates.
    Writes,
    /// Removes something.
    Destroys,
}

/// Whether calling it twice leaves the same behind as calling it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    AsOnce,
    /// Every call adds something.
    Adds,
}

/// Whether it may ask a service outside, such as a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Here,
    Outside,
}

/// How a model is told about an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolText {
    pub title: &'static str,
    pub description: &'static str,
}

/// Arguments worth showing.
#[derive(Debug, Clone)]
pub struct Example {
    pub description: &'static str,
    pub arguments: Value,
}

/// The full schemas, generated when a document or a route needs them.
#[derive(Debug, Clone, Copy)]
struct Schemas {
    request: fn() -> Value,
    response: fn() -> Value,
    error: fn() -> Value,
}

/// A parsed call, ready to run.
pub(crate) struct Work {
    /// Whether it takes microseconds.
    pub(crate) is_quick: bool,
    pub(crate) run: Run,
}

type Run = Box<dyn FnOnce(&Services, Context) -> Result<Answer, Fault> + Send>;

type Prepare = Arc<dyn Fn(&Services, JsonObject, Surface) -> Result<Work, Fault> + Send + Sync>;

impl Operation {
    /// An operation that changes nothing.
    pub fn read<Request, Response, Error>(
        name: &'static str,
        toolset: Toolset,
        run: impl Fn(&Services, &Request, &mut Context) -> Result<Response, Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        Request: DeserializeOwned + JsonSchema + Send + 'static,
        Response: Serialize + JsonSchema + 'static,
        Error: OperationError + 'static,
    {
        Self { has_quick_calls: false, ..Self::quick_read(name, toolset, |_, _| false, run) }
    }

    /// An operation that changes nothing, and can tell when its answer takes microseconds: then it
    /// runs on the thread of the call.
    pub(crate) fn quick_read<Request, Response, Error>(
        name: &'static str,
        toolset: Toolset,
        is_quick: fn(&Services, &Request) -> bool,
        run: impl Fn(&Services, &Request, &mut Context) -> Result<Response, Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        Request: DeserializeOwned + JsonSchema + Send + 'static,
        Response: Serialize + JsonSchema + 'static,
        Error: OperationError + 'static,
    {
        let run = Arc::new(run);
        let prepare = move |services: &Services, arguments: JsonObject, surface: Surface| {
            let request: Request = parse::<_, Error>(arguments, surface)?;
            let is_quick = is_quick(services, &request);
            let run = run.clone();
            let run = move |services: &Services, mut context: Context| {
                let response = run(services, &request, &mut context).map_err(Into::into)?;
                Answer::of(&response, context).map_err(|error| Fault::internal(error.to_string()))
            };
            Ok(Work { is_quick, run: Box::new(run) })
        };
        let workload = if toolset.needs_store() { Workload::External } else { Workload::Local };
        Self {
            name,
            toolset,
            category: None,
            effect: Effect::Reads,
            repeats: Repeats::AsOnce,
            reach: Reach::Here,
            workload,
            tool: None,
            route: None,
            examples: Vec::new(),
            errors: &[],
            input_schema: schema::input::<Request>(),
            output_schema: Some(schema::output::<Response>()),
            schemas: Schemas {
                request: schema::request::<Request>,
                response: schema::response::<Response>,
                error: schema::response::<Error::Body>,
            },
            has_quick_calls: true,
            prepare: Arc::new(prepare),
        }
    }

    /// An operation that adds or updates something.
    pub fn write<Request, Response, Error>(
        name: &'static str,
        toolset: Toolset,
        run: impl Fn(&Services, &Request, &mut Context) -> Result<Response, Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        Request: DeserializeOwned + JsonSchema + Send + 'static,
        Response: Serialize + JsonSchema + 'static,
        Error: OperationError + 'static,
    {
        Self { effect: Effect::Writes, ..Self::read(name, toolset, run) }
    }

    /// An operation that removes something.
    pub fn delete<Request, Response, Error>(
        name: &'static str,
        toolset: Toolset,
        run: impl Fn(&Services, &Request, &mut Context) -> Result<Response, Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        Request: DeserializeOwned + JsonSchema + Send + 'static,
        Response: Serialize + JsonSchema + 'static,
        Error: OperationError + 'static,
    {
        Self { effect: Effect::Destroys, ..Self::read(name, toolset, run) }
    }

    /// An operation whose schema is given by someone else's contract and whose answer is text.
    pub(crate) fn text(
        name: &'static str,
        toolset: Toolset,
        input_schema: Value,
        run: fn(&JsonObject) -> Result<&'static str, Fault>,
    ) -> Self {
        let prepare = move |_: &Services, arguments: JsonObject, _: Surface| {
            let text = run(&arguments)?;
            let answer = Answer::text(text);
            Ok(Work { is_quick: true, run: Box::new(move |_, _| Ok(answer)) })
        };
        let Value::Object(input_schema) = input_schema else { unreachable!("schemas are objects") };
        let anything = || json!({"type": "object"});
        Self {
            name,
            toolset,
            category: None,
            effect: Effect::Reads,
            repeats: Repeats::AsOnce,
            reach: Reach::Here,
            workload: Workload::Local,
            tool: None,
            route: None,
            examples: Vec::new(),
            errors: &[],
            input_schema: Arc::new(input_schema),
            output_schema: None,
            schemas: Schemas { request: anything, response: anything, error: anything },
            has_quick_calls: true,
            prepare: Arc::new(prepare),
        }
    }

    /// Offers it as a tool.
    #[must_use]
    pub fn tool(self, title: &'static str, description: &'static str) -> Self {
        Self { tool: Some(ToolText { title, description }), ..self }
    }

    #[must_use]
    pub(crate) fn category(self, category: &'static str) -> Self {
        Self { category: Some(category), ..self }
    }

    /// Serves it over HTTP, below `/api/v1`.
    #[must_use]
    pub(crate) fn route(
        self,
        method: Method,
        path: &str,
        group: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { route: Some(Route::new(method, path, group, summary)), ..self }
    }

    /// Over HTTP, answers 201.
    #[must_use]
    pub(crate) fn creates(self) -> Self {
        self.on_route(|route| route.success = StatusCode::CREATED)
    }

    /// Over HTTP, answers carry the revision they are about.
    #[must_use]
    pub(crate) fn with_revision(self) -> Self {
        self.on_route(|route| route.has_revision = true)
    }

    /// Over HTTP, a caller can limit its change to the revision it has seen.
    #[must_use]
    pub(crate) fn conditional(self) -> Self {
        self.on_route(|route| route.is_conditional = true)
    }

    /// Over HTTP, documents statuses that none of the common errors has.
    #[must_use]
    pub(crate) fn may_answer(self, statuses: &'static [u16]) -> Self {
        self.on_route(|route| route.other_statuses = statuses)
    }

    fn on_route(mut self, change: impl FnOnce(&mut Route)) -> Self {
        change(self.route.as_mut().expect("the route is given before what concerns it"));
        self
    }

    #[must_use]
    pub(crate) fn example(mut self, description: &'static str, arguments: Value) -> Self {
        self.examples.push(Example { description, arguments });
        self
    }

    #[must_use]
    pub(crate) fn may_fail_with(self, errors: &'static [CommonError]) -> Self {
        Self { errors, ..self }
    }

    /// Every call adds something.
    #[must_use]
    pub(crate) fn adds(self) -> Self {
        Self { repeats: Repeats::Adds, ..self }
    }

    /// May ask a service outside, such as a model.
    #[must_use]
    pub(crate) fn reaches_outside(self) -> Self {
        Self { reach: Reach::Outside, workload: Workload::External, ..self }
    }

    /// Waits for the store although its toolset usually does not.
    #[must_use]
    pub(crate) fn at_store(self) -> Self {
        Self { workload: Workload::External, ..self }
    }

    pub fn category_name(&self) -> &'static str {
        self.category.unwrap_or_else(|| self.toolset.name())
    }

    /// The errors that a caller should expect.
    pub fn common_errors(&self) -> impl Iterator<Item = &CommonError> {
        self.errors.iter().chain([&UNAVAILABLE])
    }

    /// The statuses with which it may fail over HTTP, sorted.
    pub fn error_statuses(&self) -> Vec<u16> {
        let codes = self.errors.iter().map(|error| status(error.code).as_u16());
        let other = self.route.iter().flat_map(|route| route.other_statuses.iter().copied());
        let conditional = self.route.as_ref().is_some_and(|route| route.is_conditional);
        let precondition = conditional.then_some(StatusCode::PRECONDITION_FAILED.as_u16());
        let mut statuses: Vec<u16> = codes.chain(other).chain(precondition).collect();
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }

    pub fn request_schema(&self) -> Value {
        (self.schemas.request)()
    }

    pub fn response_schema(&self) -> Value {
        (self.schemas.response)()
    }

    pub fn error_schema(&self) -> Value {
        (self.schemas.error)()
    }

    pub(crate) fn prepare(
        &self,
        services: &Services,
        arguments: JsonObject,
        surface: Surface,
    ) -> Result<Work, Fault> {
        (self.prepare)(services, arguments, surface)
    }
}

fn parse<Request: DeserializeOwned, Error: OperationError>(
    arguments: JsonObject,
    surface: Surface,
) -> Result<Request, Fault> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let argument = (path != ".").then_some(path.as_str());
        let mut fault = Error::malformed(argument, error.inner().to_string(), surface);
        // Over REST the contract of some errors has no hint; a model always gets one.
        if surface == Surface::Mcp {
            fault.hint.get_or_insert_with(|| surface.schema_hint().to_owned());
        }
        fault
    })
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("name", &self.name).finish_non_exhaustive()
    }
}
