//! Why the answers differ, where they do.

use listwatch_tests::requests::Request;
use listwatch_tests::requests::difference::Difference;
use listwatch_tests::requests::pair::Compared;
use listwatch_tests::requests::side::Answered;
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
    // Both do what was asked.
    Reason {
        explains: |case| case.are_done() && case.is_built_in() && case.has_kept(),
        why: "unknown fields, zeros and empty values of Kubernetes' own kinds stay",
    },
    Reason {
        explains: |case| case.are_done() && !case.request.is_read() && case.is_write_of_nothing(),
        why: "managers and defaults are not stored, so a write of them alone makes no version, and one of a default counts",
    },
    Reason {
        explains: |case| {
            case.are_done() && case.is_of("v1/pods", "DELETE") && case.differs("metadata.deletionTimestamp")
        },
        why: "a pod is gone at once, and the answer does not show when it was to go",
    },
    Reason {
        explains: |case| case.are_done() && case.is_by_default(),
        why: "a field or a label that is not given has no default that a selector could find",
    },
    Reason {
        explains: |case| {
            let server = &case.compared.server.body;
            case.are_done()
                && case.request.verb() == "DELETE"
                && (case.request.has("dry run") || case.request.step.body.contains("dryRun"))
                && server["kind"] == case.request.specimen.kind.as_str()
                && server["metadata"]["uid"].is_null()
        },
        why: "a dry run of a deletion that takes the last finalizer away is answered by an object without fields",
    },
    Reason {
        explains: |case| {
            case.are_done()
                && case.request.specimen.cluster
                && case.are_all(|it| it.path == "metadata.continue" && it.simulated.is_none())
        },
        why: "a server has objects of other runs, too, of which a next page could be",
    },
    // Both refuse, and with the same code.
    Reason {
        explains: |case| {
            case.codes() == (400, 400) && case.are_all(is_message) && case.server_says("unable to parse requirement")
        },
        why: "what is wrong with a label selector is said in the cluster's own words",
    },
    Reason {
        explains: |case| {
            case.codes() == (400, 400)
                && case.are_all(is_message)
                && [
                    "json: ",
                    "illegal base64",
                    "quantities must",
                    "error decoding YAML",
                    "error converting YAML",
                    "invalid object type",
                ]
                .iter()
                .any(|it| case.server_says(it))
        },
        why: "of several values of another type a server names the first one in the text, and those of specs, too",
    },
    Reason {
        explains: |case| case.codes() == (406, 406) && case.are_all(is_message),
        why: "a server names the media types that the cluster does not have, too",
    },
    Reason {
        explains: |case| case.codes() == (422, 422) && case.is_bad_patch(),
        why: "the message of a patch that makes no object is the cluster's own",
    },
    Reason {
        explains: |case| case.codes() == (422, 422) && case.are_all(is_cause) && case.says_it_again(),
        why: "a server checks the metadata of a changed object one to four times, and names a fault each time",
    },
    Reason {
        explains: |case| {
            case.codes() == (422, 422)
                && case.are_all(is_cause)
                && case.is_built_in()
                && !case.has_null_element()
                && (case.says_more(is_of_spec) || case.is_unchecked())
        },
        why: "the specs of Kubernetes' own kinds are not checked, so a refusal names the faults of the metadata alone",
    },
    Reason {
        explains: |case| {
            case.codes() == (422, 422) && case.are_all(is_cause) && case.is_built_in() && case.has_null_element()
        },
        why: "a null in a list of objects is an object without fields, and a server names those that it requires",
    },
    Reason {
        explains: |case| {
            case.codes() == (500, 500)
                && case.request.verb() == "STRATEGIC"
                && case.are_all(is_message)
                && case.both_say("list element types are not identical: [[map[")
        },
        why: "what a server says of a list has the defaults of its elements",
    },
    // Both refuse, for different faults.
    Reason {
        explains: |case| {
            let is_strict = case.server_says("strict decoding error") && !case.simulated_says("strict decoding error");
            case.are_refusals()
                && case.is_built_in()
                && case.is_unchecked()
                && (!case.has_same_code() || (is_strict && case.are_all(is_message)))
        },
        why: "the specs and the types of Kubernetes' own kinds are not checked, so a later fault is told",
    },
    Reason {
        explains: |case| {
            case.request.has("stray") && !case.is_built_in() && [(400, 405), (404, 405)].contains(&case.codes())
        },
        why: "a method that a path does not take is refused by another code",
    },
    // The server alone refuses.
    Reason {
        explains: |case| {
            let is_of_quota = ["status unknown for quota", "exceeded quota"].iter().any(|it| case.server_says(it));
            case.request.specimen.collection == "v1/pods" && case.codes().0 == 403 && is_of_quota
        },
        why: "a quota limits nothing",
    },
    Reason {
        explains: |case| {
            let is_count = |it: &Difference| it.path.ends_with("status.used.pods");
            case.are_done()
                && case.request.specimen.collection == "v1/resourcequotas"
                && case.compared.differences.iter().any(is_count)
                && case.are_all(|it| is_count(it) || follows(it))
        },
        why: "a quota counts nothing",
    },
    Reason {
        explains: |case| {
            let body = &case.request.step.body;
            let tests_null = body.contains("\"op\":\"test\"") && (body.contains(",null") || body.contains("[null"));
            case.codes().0 == 0 && case.request.verb() == "JSON" && tests_null
        },
        why: "a server breaks the connection where a JSON patch tests a list with a null",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(422) && case.is_unchecked(),
        why: "the specs of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(400) && case.is_unchecked(),
        why: "the types of fields of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| {
            case.is_untyped()
                && (case.codes().1 != 500 || case.are_all(is_message))
                && case.server_says("failed to create typed patch object")
        },
        why: "an apply is not compared with the types of Kubernetes' own kinds, and a field of another type is a 400",
    },
    Reason {
        explains: |case| {
            case.is_built_in()
                && case.codes().0 == 409
                && case.request.verb() == "APPLY"
                && case.server_says("Apply failed with")
                && (case.misses_conflicts() || case.has_other_managers())
        },
        why: "a default belongs to no manager, so no apply conflicts with it, and a manager that sets it anew owns it",
    },
    Reason {
        explains: |case| {
            case.request.verb() == "APPLY"
                && !case.is_built_in()
                && case.codes() == (500, 200)
                && case.server_says("failed to create typed live object")
        },
        why: "a server takes an empty list for the bytes of a custom resource, and no apply after that",
    },
    Reason {
        explains: |case| {
            case.request.verb() == "APPLY"
                && !case.is_built_in()
                && case.codes().0 == 422
                && case.codes().1 < 300
                && case.server_says("must be of type")
                && case.server_says("\"null\"")
        },
        why: "an apply that takes the last field away leaves a null, which the schema of a custom resource refuses",
    },
    Reason {
        explains: |case| case.request.has("stray") && case.codes() == (404, 200),
        why: "every kind of a group that is not of Kubernetes exists",
    },
    Reason {
        explains: |case| {
            ["PUT", "DELETE"].contains(&case.request.verb())
                && case.codes() == (409, 409)
                && case.are_all(is_message)
                && case.server_says("StorageError")
        },
        why: "the message of a replacement or a deletion of another object is the cluster's own",
    },
    Reason {
        explains: |case| {
            case.is_built_in()
                && case.request.verb() == "JSON"
                && ((case.codes().1 == 422 && case.simulated_says("the server rejected our request"))
                    || (case.codes().0 == 422 && case.server_says("the server rejected our request")))
        },
        why: "a JSON patch finds no defaults",
    },
    Reason {
        explains: |case| {
            let causes = case.causes(&case.compared.simulated.body);
            case.is_built_in()
                && ((case.codes().0 < 300 || case.server_says("already exists")) && case.codes().1 == 422)
                && (case.request.has("null in the spec") && causes.iter().all(|field| field.ends_with(']')))
        },
        why: "a null in a list is an empty element, which some kinds take",
    },
    Reason {
        explains: |case| case.are_done() && case.is_built_in() && case.has_null_list(),
        why: "a server writes a field that has to be there with nothing in it",
    },
    Reason {
        explains: |case| {
            case.are_done()
                && !case.request.is_read()
                && case.are_all(|it| {
                    let unstored = ["selfLink", "deletionGracePeriodSeconds", "deletionTimestamp"];
                    it.simulated.is_none() && unstored.iter().any(|field| it.path == format!("metadata.{field}"))
                })
        },
        why: "the answer to a write has metadata that nothing stores",
    },
    Reason {
        explains: |case| {
            case.request.specimen.collection == "v1/services"
                && ["PUT", "APPLY"].contains(&case.request.verb())
                && case.request.subresource() == "status"
                && case.codes().0 != 404
                && case.codes().1 == 404
                && !case.is_unchecked()
                && !case.server_says("failed to create typed patch object")
        },
        why: "a server takes the status of an absent Service for its creation",
    },
    Reason {
        explains: |case| {
            case.is_of("v1/limitranges", "POST")
                && case.codes() == (201, 422)
                && case.causes(&case.compared.simulated.body) == ["metadata.name"]
                && case.simulated_says("name or generateName is required")
        },
        why: "a LimitRange without a name gets one",
    },
    Reason {
        explains: |case| {
            case.codes() == (422, 422)
                && case.request.has("bad prefix")
                && case.are_all(|it| is_cause(it) || it.path == "details.name")
                && case.differs("details.name")
        },
        why: "the name that is made of a prefix has other characters at its end",
    },
    Reason {
        explains: |case| {
            case.request.specimen.collection == "events.k8s.io/v1/events"
                && case.codes().0 == 422
                && !case.says_it_again()
                && case.causes(&case.compared.server.body).iter().all(|field| field.starts_with("metadata."))
        },
        why: "the metadata of Events are checked as in version v1",
    },
    Reason {
        explains: |case| case.codes() == (422, 422) && case.are_all(is_message) && case.has_same_letters(),
        why: "a server goes through a map, and names the faults in it in any order",
    },
    Reason {
        explains: |case| {
            case.request.has("watch") && case.request.specimen.collection == "v1/pods" && case.has_marked()
        },
        why: "a pod is gone at once, and a watch is not told when it was to go",
    },
    Reason {
        explains: |case| {
            case.are_done()
                && case.request.specimen.collection == "v1/nodes"
                && case.differs("spec.taints")
                && case.are_all(|it| it.path == "spec.taints" || is_kept(it))
        },
        why: "a server taints a new Node as not ready, and nothing would take that away again",
    },
];

/// Whether the simulated cluster has a field more, which a server leaves out.
fn is_kept(it: &Difference) -> bool {
    let name = it.path.rsplit('.').next().unwrap_or_default();
    let is_in_object = !["metadata", "identity", "message", "details"].iter().any(|place| it.path.starts_with(place));
    is_in_object && it.server.is_none() && (is_unknown(name) || it.simulated.as_ref().is_some_and(is_nothing))
}

/// Whether a value is nothing but zeros, empty values, and fields that no type has.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().all(|(name, value)| is_unknown(name) || is_nothing(value)),
        Value::Array(elements) => elements.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
    }
}

/// Whether the simulated cluster has nothing, or an empty list.
fn is_empty(it: &Difference) -> bool {
    it.simulated.as_ref().is_none_or(|value| value.as_array().is_some_and(Vec::is_empty))
}

fn is_unknown(name: &str) -> bool {
    ["unknown", "seen"].contains(&name)
}

fn is_message(it: &Difference) -> bool {
    it.path == "message"
}

/// Whether it is in what a refusal says of fields.
fn is_cause(it: &Difference) -> bool {
    is_message(it) || it.path.starts_with("details.causes")
}

fn is_of_spec(field: &str) -> bool {
    // A server names the taints of a Node there.
    !field.starts_with("metadata") || field.starts_with("metadata.taints")
}

/// Whether it follows from a field that stays.
fn follows(it: &Difference) -> bool {
    it.path.starts_with("identity of") || it.path.ends_with("metadata.generation")
}

impl Case<'_> {
    fn is_built_in(&self) -> bool {
        !self.request.specimen.is_custom()
    }

    fn codes(&self) -> (u16, u16) {
        (self.compared.server.code, self.compared.simulated.code)
    }

    fn has_same_code(&self) -> bool {
        self.codes().0 == self.codes().1
    }

    /// Whether both did what was asked.
    fn are_done(&self) -> bool {
        self.has_same_code() && self.codes().0 < 300
    }

    fn are_refusals(&self) -> bool {
        self.codes().0 >= 400 && self.codes().1 >= 400
    }

    /// Whether the answers differ in the version, which a server changed, or did not.
    fn is_write_of_nothing(&self) -> bool {
        let is_count = |it: &Difference| it.path == "metadata.generation" && self.is_built_in();
        self.are_all(|it| (it.path.starts_with("identity of") && it.path.ends_with("version")) || is_count(it))
    }

    fn simulated_says(&self, text: &str) -> bool {
        self.compared.simulated.body["message"].as_str().is_some_and(|message| message.contains(text))
    }

    fn server_says(&self, text: &str) -> bool {
        self.compared.server.body["message"].as_str().is_some_and(|message| message.contains(text))
    }

    fn both_say(&self, text: &str) -> bool {
        self.server_says(text) && self.simulated_says(text)
    }

    /// Whether the server alone refuses, with this code.
    fn refuses_alone(&self, code: u16) -> bool {
        self.codes().0 == code && self.codes().1 < 300
    }

    /// Whether the server cannot read what is applied.
    fn is_untyped(&self) -> bool {
        self.codes().0 == 500 && self.request.verb() == "APPLY"
    }

    fn are_all(&self, are: impl Fn(&Difference) -> bool) -> bool {
        self.compared.differences.iter().all(are)
    }

    fn differs(&self, field: &str) -> bool {
        self.compared.differences.iter().any(|it| it.path == field)
    }

    fn is_of(&self, collection: &str, verb: &str) -> bool {
        self.request.specimen.collection == collection && self.request.verb() == verb
    }

    fn has_kept(&self) -> bool {
        self.compared.differences.iter().any(is_kept) && self.are_all(|it| is_kept(it) || follows(it))
    }

    /// Whether it selects by a field that a server adds.
    fn is_by_default(&self) -> bool {
        let fields = ["fieldSelector=spec.", "labelSelector=app"];
        self.is_built_in()
            && self.request.specimen.collection != "v1/endpoints"
            && fields.iter().any(|field| self.request.target().contains(field))
            && self.differs("items")
    }

    /// The fields that the causes of a refusal name.
    fn causes<'v>(&self, body: &'v Value) -> Vec<&'v str> {
        let causes = body["details"]["causes"].as_array().into_iter().flatten();
        causes.filter_map(|cause| cause["field"].as_str()).collect()
    }

    fn is_bad_patch(&self) -> bool {
        self.causes(&self.compared.server.body) == ["patch"]
    }

    /// Both refusals' fields.
    fn both_causes(&self) -> [Vec<&str>; 2] {
        [&self.compared.server, &self.compared.simulated].map(|it| self.causes(&it.body))
    }

    /// Whether the server names the same faults, some of the metadata more often.
    fn says_it_again(&self) -> bool {
        let causes = |body: &Value| body["details"]["causes"].as_array().cloned().unwrap_or_default();
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| causes(&it.body));
        let is_again = |cause: &Value| {
            let [server, simulated] = [&server, &simulated].map(|it| it.iter().filter(|it| *it == cause).count());
            let is_of_metadata = cause["field"].as_str().is_some_and(|field| field.starts_with("metadata."));
            server == simulated || (server > 0 && simulated > 0 && is_of_metadata)
        };
        server != simulated && server.iter().chain(&simulated).all(is_again)
    }

    /// Whether the server's refusal has all causes of the other one, and more about such fields.
    fn says_more(&self, may_be: fn(&str) -> bool) -> bool {
        let [server, simulated] = self.both_causes();
        let is_more = |field: &str| !simulated.contains(&field);
        simulated.iter().all(|field| server.contains(field))
            && server.iter().any(|field| is_more(field))
            && server.iter().filter(|field| is_more(field)).all(|field| may_be(field))
    }

    /// Whether the server alone names conflicts, none of them of metadata.
    fn misses_conflicts(&self) -> bool {
        let causes = |it: &Answered| it.body["details"]["causes"].as_array().cloned().unwrap_or_default();
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(causes);
        let known = if self.has_same_code() { simulated } else { Vec::new() };
        let is_missed = |cause: &&Value| !known.contains(cause);
        let is_of_metadata = |cause: &Value| cause["field"].as_str().is_none_or(|field| field.starts_with(".metadata"));
        known.iter().all(|cause| server.contains(cause))
            && server.iter().any(|cause| is_missed(&cause))
            && !server.iter().filter(is_missed).any(is_of_metadata)
    }

    /// Whether both name conflicts of the same fields, those that have defaults with other managers.
    fn has_other_managers(&self) -> bool {
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| {
            let causes = it.body["details"]["causes"].as_array().into_iter().flatten();
            let field = |cause: &Value| cause["field"].as_str().unwrap_or_default().to_owned();
            let has_defaults = |field: &str| [".spec", ".endpoints", ".ports"].iter().any(|it| field.starts_with(it));
            let fields: BTreeSet<String> = causes.clone().map(field).collect();
            (fields, causes.filter(|cause| !has_defaults(&field(cause))).collect::<Vec<_>>())
        });
        let is_before = self.server_says("before-first-apply") || self.simulated_says("before-first-apply");
        self.has_same_code() && self.are_all(is_cause) && server == simulated && !is_before
    }

    /// Whether the simulated cluster names an element where the server names fields of it.
    fn has_null_element(&self) -> bool {
        let [server, simulated] = self.both_causes();
        let is_below = |element: &&&str| server.iter().any(|field| field.starts_with(&format!("{element}.")));
        simulated.iter().any(|field| field.ends_with(']') && is_below(&field))
    }

    /// Whether the server has null where the simulated cluster has nothing.
    fn has_null_list(&self) -> bool {
        let is_null = |it: &Difference| {
            it.server.as_ref().is_some_and(|it| [json!(null), json!(""), json!({})].contains(it)) && is_empty(it)
        };
        self.compared.differences.iter().any(is_null) && self.are_all(|it| is_null(it) || follows(it))
    }

    /// Whether both messages have the same letters.
    fn has_same_letters(&self) -> bool {
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| {
            let mut letters: Vec<char> = it.body["message"].as_str().unwrap_or_default().chars().collect();
            letters.sort_unstable();
            letters
        });
        server == simulated
    }

    /// Whether the events differ in those of pods that are about to go.
    fn has_marked(&self) -> bool {
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| {
            let events = it.body.as_array().into_iter().flatten();
            let is_mark = |event: &&Value| {
                event["type"] == "MODIFIED" && event["object"]["metadata"]["deletionTimestamp"].is_string()
            };
            let marks = events.clone().filter(is_mark).count();
            let others = events.filter(|event| !is_mark(event));
            let others = others.map(|event| (event["type"].clone(), event["object"]["metadata"]["name"].clone()));
            (marks, others.collect::<Vec<_>>())
        });
        server.0 > simulated.0 && server.1 == simulated.1
    }

    /// Whether the server refuses for a fault of a spec, or a type, that the simulated cluster does not know.
    fn is_unchecked(&self) -> bool {
        let causes = self.causes(&self.compared.server.body);
        let is_of_type = ["json: cannot unmarshal", "strict decoding error", "quantities must match"]
            .iter()
            .any(|it| self.server_says(it));
        match self.codes().0 {
            422 => !causes.is_empty() && causes.iter().all(|field| is_of_spec(field)),
            400 => is_of_type,
            _ => false,
        }
    }
}
