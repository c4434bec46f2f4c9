import ArgumentParser

extension NameSpecification {
    /// Names an option `-name`, as Approov's own command line does, and `--name` as well; several names are of the same option.
    static func dash(_ names: String...) -> NameSpecification {
        NameSpecification(names.flatMap { [.customLong($0, withSingleDash: true), .customLong($0)] as [Element] })
    }
}
