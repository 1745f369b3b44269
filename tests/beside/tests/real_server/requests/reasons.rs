//! Why the answers differ, where they do.

use listwatch_tests::requests::Request;
use listwatch_tests::requests::difference::Difference;
use listwatch_tests::requests::pair::Compared;
use serde_json::Value;

/// Why some answers differ.
pub(super) struct Reason {
    explains: fn(&Case<'_>) -> bool,
    pub(super) why: &'static str,
}

/// A request whose answers differ.
pub(super) struct Case<'c> {
    request: &'c Request,
    compared: &'c Compared,
}

/// The reasons of a difference.
pub(super) fn reasons(request: &Request, compared: &Compared) -> Vec<usize> {
    let case = Case { request, compared };
    let explaining = REASONS.iter().enumerate().filter(|(_, reason)| (reason.explains)(&case));
    explaining.map(|(index, _)| index).collect()
}

pub(super) const REASONS: &[Reason] = &[
    Reason {
        explains: |case| case.codes() == (400, 400) && case.are_all(|it| it.path == "message"),
        why: "the message of a 400 is the cluster's own",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(422) && !case.names_metadata(),
        why: "the specs of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(400),
        why: "the types of fields of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| case.is_built_in() && case.codes() == (422, 422) && case.says_more(),
        why: "the specs of Kubernetes' own kinds are not checked, so a refusal for the metadata has fewer causes",
    },
    Reason {
        explains: |case| case.is_built_in() && case.are_done() && case.are_all(is_kept),
        why: "unknown fields, nulls, zeros and empty values of Kubernetes' own kinds stay",
    },
];

/// Whether the simulated cluster has a field more, which a server leaves out.
fn is_kept(it: &Difference) -> bool {
    let is_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    };
    it.server.is_none() && (it.path.ends_with("unknown") || it.simulated.as_ref().is_some_and(is_nothing))
}

impl Case<'_> {
    fn is_built_in(&self) -> bool {
        !self.request.specimen.is_custom()
    }

    fn codes(&self) -> (u16, u16) {
        (self.compared.server.code, self.compared.simulated.code)
    }

    /// Whether both did what was asked.
    fn are_done(&self) -> bool {
        let (server, simulated) = self.codes();
        server < 300 && simulated < 300
    }

    /// Whether the server alone refuses, with this code.
    fn refuses_alone(&self, code: u16) -> bool {
        self.codes().0 == code && self.codes().1 < 300
    }

    fn are_all(&self, are: impl Fn(&Difference) -> bool) -> bool {
        self.compared.differences.iter().all(are)
    }

    /// The fields that the causes of the server's refusal name.
    fn causes<'v>(&self, body: &'v Value) -> Vec<&'v str> {
        let causes = body["details"]["causes"].as_array().into_iter().flatten();
        causes.filter_map(|cause| cause["field"].as_str()).collect()
    }

    fn names_metadata(&self) -> bool {
        self.causes(&self.compared.server.body).iter().any(|field| field.starts_with("metadata"))
    }

    /// Whether the server's refusal has more causes, and those of the simulated cluster, too.
    fn says_more(&self) -> bool {
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| self.causes(&it.body));
        server.len() > simulated.len() && simulated.iter().all(|field| server.contains(field))
    }
}
