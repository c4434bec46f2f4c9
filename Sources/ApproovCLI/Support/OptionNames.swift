import ArgumentParser

extension NameSpecification {
    /// Names an option `-name`, as the original's command line does, and `--name` as well.
    static func dash(_ name: String) -> NameSpecification { [.customLong(name, withSingleDash: true), .customLong(name)] }
}
