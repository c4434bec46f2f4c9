import ApproovAuthority

extension RejectionReason {
    /// The reason's meaning, as a sentence without its full stop.
    var meaning: String {
        switch self {
        case .appNotRegistered: "The executable that ran is not registered with the account"
        case .debugger: "A debugger was attached to the app"
        case .debuggerUnknown: "The app could not find out whether a debugger was attached"
        case .preload: "LD_PRELOAD loaded other code into the app"
        case .preloadUnknown: "The app could not find out whether LD_PRELOAD was set"
        case .root: "The app ran as root"
        case .registrationExpired: "The registration of the executable that ran has expired"
        case .alwaysFail: "The device's policy is always-fail"
        case .developmentKeyWrong: "The app's development key is not the account's: it is malformed, or the account's was changed"
        case .developmentKeyOff: "The app has a development key, and the account's policy accepts none"
        }
    }

    /// The operator's remedy, as a sentence without its full stop.
    var remedy: String {
        switch self {
        case .appNotRegistered: "If it is your build, register it: approov registration -add EXECUTABLE"
        case .registrationExpired:
            "If the build may go on, register it again: approov registration -add EXECUTABLE -expireAfter 90d"
        case .alwaysFail: "To judge the device like others, remove its policy: approov device -remove ID"
        case .developmentKeyWrong: "Build the app with the account's key, approov devkey -get, or without one"
        case .developmentKeyOff: "Build the app without one, or accept it: approov policy -setDevelopmentKey on"
        case .debugger, .preload, .root:
            "If it is not an attack, let the API decide: approov policy -setEnvironment \(rawValue) annotate"
        case .debuggerUnknown, .preloadUnknown:
            "Give the app access to its own /proc, or let the API decide: approov policy -setEnvironment \(rawValue) annotate"
        }
    }
}
