/// The target of reconciles and of reports of controllers.
pub const CONTROLLER: &str = "listwatch::controller";

/// The target of elections.
pub const ELECTION: &str = "listwatch::election";

/// The target of lists and watches.
pub const REFLECTOR: &str = "listwatch::reflector";
