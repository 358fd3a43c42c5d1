package org.example;

import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.DefaultProfileValidationSupport;
import ca.uhn.fhir.validation.FhirValidator;
import ca.uhn.fhir.validation.ResultSeverityEnum;
import ca.uhn.fhir.validation.SingleValidationMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.hl7.fhir.common.hapi.validation.support.CommonCodeSystemsTerminologyService;
import org.hl7.fhir.common.hapi.validation.support.InMemoryTerminologyServerValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.SnapshotGeneratingValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.ValidationSupportChain;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;

/**
 * Validates NDJSON files of FHIR R4 resources against the specification, and against the profiles that they claim. Prints each error
 * with the file, the line and the path of the fault. Arguments: the files.
 */
public class Validate {
  private static final int MAX_PRINTED_ERRORS = 200;
  private static final List<ResultSeverityEnum> ERRORS = List.of(ResultSeverityEnum.ERROR, ResultSeverityEnum.FATAL);

  private static final String BACKPORT = "http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition";

  private final FhirValidator validator = createValidator();
  private final TreeMap<String, Integer> counts = new TreeMap<>();
  private int errors = 0;

  private record Line(String place, String json, Future<List<SingleValidationMessage>> result) {}

  public static void main(String[] args) throws Exception {
    var validation = new Validate();
    for (var file : args) validation.validate(Path.of(file));
    var resources = validation.counts.values().stream().mapToInt(Integer::intValue).sum();
    System.out.println(resources + " resources, " + validation.errors + " errors " + validation.counts);
    System.exit(resources > 0 && validation.errors == 0 ? 0 : 1);
  }

  private static FhirValidator createValidator() {
    var context = FhirContext.forR4();
    var support =
        new ValidationSupportChain(
            new DefaultProfileValidationSupport(context),
            new CommonCodeSystemsTerminologyService(context),
            new InMemoryTerminologyServerValidationSupport(context),
            new SnapshotGeneratingValidationSupport(context));
    var instanceValidator = new FhirInstanceValidator(support);
    instanceValidator.setAnyExtensionsAllowed(true);
    instanceValidator.setErrorForUnknownProfiles(true);
    return context.newValidator().registerValidatorModule(instanceValidator);
  }

  private void validate(Path file) throws Exception {
    var workers = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    try {
      var number = new int[] {0};
      var lines =
          readLines(file).stream()
              .map(
                  json ->
                      new Line(
                          file.getFileName() + ":" + ++number[0],
                          json,
                          workers.submit(() -> validator.validateWithResult(json).getMessages())))
              .toList();
      for (var line : lines) report(line);
    } finally {
      workers.shutdown();
    }
  }

  private static List<String> readLines(Path file) throws IOException {
    return Files.readAllLines(file).stream().filter(line -> !line.isBlank()).map(Validate::withoutBackport).toList();
  }

  /** No artifact of Maven has the profile of the backport of subscriptions, so its claim cannot be checked. */
  private static String withoutBackport(String json) {
    return json.replace(",\"profile\":[\"" + BACKPORT + "/backport-subscription\"]", "");
  }

  private void report(Line line) throws Exception {
    counts.merge(typeOf(line.json), 1, Integer::sum);
    for (var message : line.result.get()) {
      if (!ERRORS.contains(message.getSeverity())) continue;
      errors++;
      if (errors <= MAX_PRINTED_ERRORS)
        System.out.println(line.place + " " + message.getLocationString() + ": " + message.getMessage());
    }
  }

  private static String typeOf(String json) {
    return json.replaceFirst("(?s).*?\"resourceType\"\\s*:\\s*\"(\\w+)\".*", "$1");
  }
}
