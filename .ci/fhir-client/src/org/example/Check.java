package org.example;

import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.rest.api.MethodOutcome;
import ca.uhn.fhir.rest.api.SortSpec;
import ca.uhn.fhir.rest.api.SortOrderEnum;
import ca.uhn.fhir.rest.client.api.IGenericClient;
import ca.uhn.fhir.rest.client.interceptor.BearerTokenAuthInterceptor;
import ca.uhn.fhir.rest.server.exceptions.ResourceGoneException;
import ca.uhn.fhir.rest.server.exceptions.ResourceNotFoundException;
import ca.uhn.fhir.rest.server.exceptions.UnprocessableEntityException;
import ca.uhn.fhir.util.BundleBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.hl7.fhir.r4.model.Bundle;
import org.hl7.fhir.r4.model.CapabilityStatement;
import org.hl7.fhir.r4.model.CodeableConcept;
import org.hl7.fhir.r4.model.Coding;
import org.hl7.fhir.r4.model.Condition;
import org.hl7.fhir.r4.model.DateTimeType;
import org.hl7.fhir.r4.model.IdType;
import org.hl7.fhir.r4.model.Observation;
import org.hl7.fhir.r4.model.OperationOutcome;
import org.hl7.fhir.r4.model.Patient;
import org.hl7.fhir.r4.model.Quantity;
import org.hl7.fhir.r4.model.Reference;
import org.hl7.fhir.r4.model.Resource;

/** Does the work of a FHIR client on the data of the demo. Argument: the address of the API. TOKEN: that of a patient. */
public class Check {
  private static final String LOINC = "http://loinc.org";
  private static final String PRESSURE = "85354-9";
  private static final int PRESSURES_OF_A_YEAR = 183;

  private static final Set<String> SHOWN = new HashSet<>();

  private final IGenericClient client;
  private String patientId;
  /** The care plan of the blood pressures, since the patient has several. */
  private Reference plan;

  private Check(String base) {
    var context = FhirContext.forR4();
    context.getRestfulClientFactory().setSocketTimeout(60_000);
    client = context.newRestfulGenericClient(base);
    client.registerInterceptor(new BearerTokenAuthInterceptor(System.getenv("TOKEN")));
  }

  public static void main(String[] args) throws Exception {
    var check = new Check(args[0]);
    check.readCapabilities();
    check.findPatient();
    check.readYearOfPressures();
    check.createOnce();
    check.changeAndDelete();
    check.carryOutTransaction();
    check.receiveErrors();
    var folder = System.getenv("FHIR_RESOURCES");
    if (folder != null) check.writeResources(Path.of(folder, "demo.ndjson"));
  }

  private void readCapabilities() {
    var capabilities = client.capabilities().ofType(CapabilityStatement.class).execute();
    require(capabilities.getFhirVersion().toCode().equals("4.0.1"), "the version is 4.0.1");
  }

  private void findPatient() {
    var found = client.search().forResource(Patient.class).where(Patient.NAME.matches().value("anna")).returnBundle(Bundle.class).execute();
    require(found.getEntry().size() == 1, "the name finds one patient");
    patientId = found.getEntryFirstRep().getResource().getIdElement().getIdPart();
  }

  private void readYearOfPressures() {
    var ids = new HashSet<String>();
    var page =
        client
            .search()
            .forResource(Observation.class)
            .where(Observation.PATIENT.hasId("Patient/" + patientId))
            .and(Observation.CODE.exactly().systemAndCode(LOINC, PRESSURE))
            .and(Observation.DATE.afterOrEquals().day("2020-01-01"))
            .sort(new SortSpec(Observation.SP_DATE, SortOrderEnum.DESC))
            .count(50)
            .returnBundle(Bundle.class)
            .execute();
    var last = "9999";
    for (var pages = 1; ; pages++) {
      for (var entry : page.getEntry()) {
        var observation = (Observation) entry.getResource();
        var time = observation.getEffectiveDateTimeType().getValue().toInstant().toString();
        require(time.compareTo(last) <= 0, "the newest come first");
        last = time;
        ids.add(observation.getIdElement().getIdPart());
        plan = observation.getBasedOnFirstRep();
      }
      if (page.getLink(Bundle.LINK_NEXT) == null) {
        require(pages == 4, "a year has four pages");
        break;
      }
      page = client.loadPage().next(page).execute();
    }
    require(ids.size() == PRESSURES_OF_A_YEAR, "each blood pressure is read once: " + ids.size());
  }

  private Observation pressureAt(String time) {
    var observation = new Observation();
    observation.setStatus(Observation.ObservationStatus.FINAL);
    observation.setCode(loinc(PRESSURE)).setSubject(new Reference("Patient/" + patientId)).addBasedOn(plan);
    observation.setEffective(new DateTimeType(time));
    observation.addComponent().setCode(loinc("8480-6")).setValue(pressure(121));
    observation.addComponent().setCode(loinc("8462-4")).setValue(pressure(79));
    return observation;
  }

  private static CodeableConcept loinc(String code) {
    return new CodeableConcept(new Coding(LOINC, code, null));
  }

  private static Quantity pressure(int value) {
    return new Quantity().setValue(value).setUnit("mmHg").setSystem("http://unitsofmeasure.org").setCode("mm[Hg]");
  }

  private MethodOutcome createUnlessThere(String time) {
    var condition = "Observation?patient=" + patientId + "&code=" + PRESSURE + "&date=" + time;
    return client.create().resource(pressureAt(time)).conditionalByUrl(condition).execute();
  }

  private void createOnce() {
    var first = createUnlessThere("2019-03-01T08:00:00Z");
    var second = createUnlessThere("2019-03-01T08:00:00Z");
    require(first.getCreated(), "the first attempt creates");
    require(!Boolean.TRUE.equals(second.getCreated()), "the second one finds it");
    require(first.getId().getIdPart().equals(second.getId().getIdPart()), "both name the same resource");
  }

  private void changeAndDelete() {
    var id = createUnlessThere("2019-04-01T08:00:00Z").getId();
    var observation = client.read().resource(Observation.class).withId(id.toVersionless().getIdPart()).execute();
    observation.addNote().setText("After a walk");
    var updated = client.update().resource(observation).execute();
    require(updated.getId().getVersionIdPart().equals("2"), "an update makes a version");
    var history = client.history().onInstance(id.toUnqualifiedVersionless()).returnBundle(Bundle.class).execute();
    require(history.getEntry().size() == 2, "the history has both versions");
    client.delete().resourceById(id.toUnqualifiedVersionless()).execute();
    try {
      client.read().resource(Observation.class).withId(id.getIdPart()).execute();
      require(false, "a deleted resource is gone");
    } catch (ResourceGoneException expected) {
      // 410
    }
  }

  private void carryOutTransaction() {
    var builder = new BundleBuilder(client.getFhirContext());
    builder.addTransactionCreateEntry(pressureAt("2019-05-01T08:00:00Z"));
    var condition = new Condition().setSubject(new Reference("Patient/" + patientId));
    condition.setCode(new CodeableConcept().setText("Hay fever"));
    condition.setClinicalStatus(
        new CodeableConcept(new Coding("http://terminology.hl7.org/CodeSystem/condition-clinical", "active", null)));
    builder.addTransactionCreateEntry(condition);
    var answer = client.transaction().withBundle((Bundle) builder.getBundle()).execute();
    require(answer.getEntry().size() == 2, "each entry is answered");
    for (var entry : answer.getEntry())
      require(entry.getResponse().getStatus().startsWith("201"), "each entry creates");
    var id = new IdType(answer.getEntry().get(1).getResponse().getLocation());
    var stored = client.read().resource(Condition.class).withId(id.getIdPart()).execute();
    require(stored.getCode().getText().equals("Hay fever"), "the condition is stored");
  }

  private void receiveErrors() {
    try {
      client.read().resource(Observation.class).withId("nothing").execute();
      require(false, "an unknown resource is not found");
    } catch (ResourceNotFoundException expected) {
      require(expected.getOperationOutcome() != null, "an error has an OperationOutcome");
    }
    try {
      client.create().resource(new Observation().setSubject(new Reference("Patient/" + patientId))).execute();
      require(false, "an incomplete resource is refused");
    } catch (UnprocessableEntityException expected) {
      var outcome = (OperationOutcome) expected.getOperationOutcome();
      require(!outcome.getIssueFirstRep().getExpression().isEmpty(), "a fault has its FHIRPath");
    }
  }

  /** All resources of the patient whose types can be searched by patient. */
  private void writeResources(Path file) throws Exception {
    var parser = client.getFhirContext().newJsonParser();
    var lines = new ArrayList<String>();
    var capabilities = client.capabilities().ofType(CapabilityStatement.class).execute();
    for (var type : capabilities.getRestFirstRep().getResource()) {
      if (type.getSearchParam().stream().noneMatch(one -> one.getName().equals("patient"))) continue;
      var page =
          client.search().byUrl(type.getType() + "?patient=" + patientId + "&_count=1000").returnBundle(Bundle.class).execute();
      for (; page != null; page = nextOf(page))
        for (var resource : resourcesIn(page)) lines.add(parser.encodeResourceToString(resource));
    }
    Files.write(file, lines);
    System.out.println(lines.size() + " resources of the demo");
  }

  private Bundle nextOf(Bundle page) {
    return page.getLink(Bundle.LINK_NEXT) == null ? null : client.loadPage().next(page).execute();
  }

  private static List<Resource> resourcesIn(Bundle page) {
    return page.getEntry().stream().map(Bundle.BundleEntryComponent::getResource).toList();
  }

  private static void require(boolean isTrue, String what) {
    if (!isTrue) throw new IllegalStateException("Not so: " + what);
    if (SHOWN.add(what)) System.out.println("ok: " + what);
  }
}
