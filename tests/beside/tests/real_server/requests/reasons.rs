//! Why the answers differ, where they do.

use listwatch_tests::requests::Request;
use listwatch_tests::requests::difference::Difference;
use listwatch_tests::requests::pair::Compared;
use serde_json::{Value, json};

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
        explains: |case| case.are_done() && case.is_write_of_nothing(),
        why: "managers and defaults are not stored, so a write of them alone makes no version, and one of a default counts",
    },
    Reason {
        explains: |case| {
            case.are_done() && case.is_of("v1/pods", "DELETE") && case.differs("metadata.deletionTimestamp")
        },
        why: "a pod is gone at once, and the answer does not show when it was to go",
    },
    Reason {
        explains: |case| case.are_done() && case.are_all(|it| it.path == "metadata.continue" && it.simulated.is_none()),
        why: "a server may offer a next page that is empty",
    },
    Reason {
        explains: |case| case.are_done() && case.is_by_default(),
        why: "a field or a label that is not given has no default that a selector could find",
    },
    // Both refuse, and with the same code.
    Reason { explains: |case| case.codes() == (400, 400), why: "the message of a 400 is the cluster's own" },
    Reason {
        explains: |case| case.codes() == (406, 406),
        why: "a server names the media types that the cluster does not have, too",
    },
    Reason {
        explains: |case| case.codes() == (500, 500) && case.request.verb() == "APPLY",
        why: "the message of an apply that has no type names the object by the path",
    },
    Reason {
        explains: |case| case.codes() == (422, 422) && case.is_bad_patch(),
        why: "the message of a patch that makes no object is the cluster's own",
    },
    Reason {
        explains: |case| case.codes() == (422, 422) && !case.is_bad_patch() && case.says_more(),
        why: "a refusal names the faults of the metadata first, and those of the spec only without them",
    },
    Reason {
        explains: |case| {
            ![400, 406].contains(&case.codes().0)
                && case.has_same_code()
                && case.are_all(is_group)
                && case.request.specimen.collection == "events.k8s.io/v1/events"
        },
        why: "the answer about an Event names the version in which it is stored",
    },
    // Both refuse, for different faults.
    Reason {
        explains: |case| case.are_refusals() && !case.has_same_code() && !case.is_untyped() && !case.is_mistaken(),
        why: "a request with several faults is refused for another one of them",
    },
    Reason {
        explains: |case| case.are_refusals() && !case.has_same_code() && !case.is_untyped() && case.is_mistaken(),
        why: "a method that a path does not take, and a custom resource of another kind, are refused by another code",
    },
    // The server alone refuses.
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(422),
        why: "the specs of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(400),
        why: "the types of fields of Kubernetes' own kinds are not checked",
    },
    Reason {
        explains: |case| case.is_untyped() && case.codes().1 != 500,
        why: "an apply is not compared with the types of Kubernetes' own kinds, and a field of another type is a 400",
    },
    Reason {
        explains: |case| case.is_built_in() && case.refuses_alone(409) && case.request.verb() == "APPLY",
        why: "a default belongs to no manager, so no apply conflicts with it",
    },
    Reason {
        explains: |case| case.refuses_alone(409) && case.request.verb() == "PUT",
        why: "a replacement of an absent object may name a uid",
    },
    Reason {
        explains: |case| {
            case.are_done()
                && case.request.verb() == "METADATAS"
                && case.are_all(|it| it.path == "items" && it.simulated == Some(json!([])))
        },
        why: "a server writes an empty list of metadata as null",
    },
    Reason {
        explains: |case| {
            case.is_of("batch/v1/jobs", "DELETE") && case.are_done() && case.differs("metadata.finalizers[0]")
        },
        why: "a deletion without a policy orphans the dependents of a Job that waits for them already",
    },
    Reason {
        explains: |case| case.is_of("v1/services", "DELETE") && case.codes() == (202, 200),
        why: "an accepted deletion is a 200, and not a 202",
    },
    Reason {
        explains: |case| case.request.has("stray") && case.codes() == (404, 200),
        why: "every kind of a group that is not of Kubernetes exists",
    },
    Reason {
        explains: |case| case.are_done() && case.differs("metadata.selfLink"),
        why: "a server keeps a link of an object to itself",
    },
    Reason {
        explains: |case| case.request.verb() == "APPLY" && case.codes() == (409, 409),
        why: "conflicts of defaults are missing, and conflicts of two managers are told in another order",
    },
    Reason {
        explains: |case| case.request.verb() == "PUT" && case.codes() == (409, 409) && case.server_says("StorageError"),
        why: "the message of a replacement with another uid is the cluster's own",
    },
    Reason {
        explains: |case| case.request.verb() == "PUT" && case.codes() == (500, 201),
        why: "a replacement of an absent object may name a version that is no number",
    },
    Reason {
        explains: |case| case.is_built_in() && case.request.verb() == "JSON" && case.codes() == (200, 422),
        why: "a JSON patch finds no defaults",
    },
    Reason {
        explains: |case| case.request.verb() == "APPLY" && case.refuses_alone(400) && !case.is_built_in(),
        why: "an apply may have an empty name",
    },
    Reason {
        explains: |case| {
            case.request.verb() == "APPLY" && case.codes() == (201, 400) && case.request.has("date that is none")
        },
        why: "an apply may not have a date that is none",
    },
    Reason {
        explains: |case| {
            case.are_done()
                && !case.is_built_in()
                && case.request.verb() == "MERGE"
                && case.are_all(|it| it.simulated == Some(json!(null)))
        },
        why: "a server takes nulls from objects in the lists of a merge patch",
    },
];

/// Whether the simulated cluster has a field more, which a server leaves out.
fn is_kept(it: &Difference) -> bool {
    it.server.is_none() && !it.path.starts_with("identity") && (!it.path.contains("metadata") || is_unknown(&it.path))
}

fn is_unknown(path: &str) -> bool {
    path.ends_with(".unknown") || path.ends_with("].x")
}

fn is_group(it: &Difference) -> bool {
    ["details.group", "message"].contains(&it.path.as_str())
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

    fn server_says(&self, text: &str) -> bool {
        self.compared.server.body["message"].as_str().is_some_and(|message| message.contains(text))
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
            && self.request.verb() != "METADATAS"
            && fields.iter().any(|field| self.request.target().contains(field))
            && self.differs("items")
    }

    fn is_mistaken(&self) -> bool {
        ["stray", "another kind", "another version"].iter().any(|oddity| self.request.has(oddity))
    }

    /// The fields that the causes of a refusal name.
    fn causes<'v>(&self, body: &'v Value) -> Vec<&'v str> {
        let causes = body["details"]["causes"].as_array().into_iter().flatten();
        causes.filter_map(|cause| cause["field"].as_str()).collect()
    }

    fn is_bad_patch(&self) -> bool {
        self.causes(&self.compared.server.body) == ["patch"]
    }

    /// Whether the server's refusal has more causes, and those of the simulated cluster, too.
    fn says_more(&self) -> bool {
        let [server, simulated] = [&self.compared.server, &self.compared.simulated].map(|it| self.causes(&it.body));
        server.len() > simulated.len() && simulated.iter().all(|field| server.contains(field))
    }
}
