package import Approov

extension ConfigurationEvent {
    /// The version that was accepted; nil for another event.
    package var accepted: Int64? { if case .accepted(let version) = self { version } else { nil } }

    /// Why a configuration was refused; nil for another event.
    package var refusal: ApproovError? { if case .refused(let error) = self { error } else { nil } }

    /// Why a configuration was not stored; nil for another event.
    package var storingFailure: ApproovError? { if case .notStored(let error) = self { error } else { nil } }

    /// The hosts whose pins are past their date; nil for another event.
    package var pinsPastTheirDate: [String]? { if case .pinsPastTheirDate(let hosts) = self { hosts } else { nil } }
}
