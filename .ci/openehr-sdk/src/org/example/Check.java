package org.example;

import com.nedap.archie.rm.composition.Composition;
import com.nedap.archie.rm.datatypes.CodePhrase;
import com.nedap.archie.rm.datavalues.DvCodedText;
import com.nedap.archie.rm.datavalues.DvText;
import com.nedap.archie.rm.directory.Folder;
import com.nedap.archie.rm.generic.AuditDetails;
import com.nedap.archie.rm.generic.PartyIdentified;
import com.nedap.archie.rm.generic.PartySelf;
import com.nedap.archie.rm.support.identification.ObjectVersionId;
import com.nedap.archie.rm.support.identification.TerminologyId;
import java.io.File;
import java.net.URI;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.apache.http.HttpHeaders;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.message.BasicHeader;
import org.ehrbase.openehr.sdk.client.openehrclient.OpenEhrClientConfig;
import org.ehrbase.openehr.sdk.client.openehrclient.builder.ContributionBuilder;
import org.ehrbase.openehr.sdk.client.openehrclient.defaultrestclient.DefaultRestClient;
import org.ehrbase.openehr.sdk.generator.commons.aql.query.NativeQuery;
import org.ehrbase.openehr.sdk.generator.commons.aql.query.Query;
import org.ehrbase.openehr.sdk.generator.commons.aql.record.Record2;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Category;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Language;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Setting;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Territory;
import org.ehrbase.openehr.sdk.serialisation.dto.GeneratedDtoToRmConverter;
import org.ehrbase.openehr.sdk.webtemplate.templateprovider.TemplateProvider;
import org.openehr.schemas.v1.OPERATIONALTEMPLATE;
import org.openehr.schemas.v1.TemplateDocument;

/** Uses the service as a program with the SDK does. Arguments: its address. TOKEN is that of a connected system. */
public class Check {
  private static final String TEMPLATE = "Pressure SDK";

  private final DefaultRestClient client;
  private final TemplateProvider templates = Check::readTemplate;
  private UUID ehr;

  Check(String address, String token) {
    var authorization = new BasicHeader(HttpHeaders.AUTHORIZATION, "Bearer " + token);
    var http = HttpClients.custom().setDefaultHeaders(List.of(authorization)).build();
    client = new DefaultRestClient(new OpenEhrClientConfig(URI.create(address)), templates, http);
  }

  public static void main(String[] args) throws Exception {
    var check = new Check(args[0], System.getenv("TOKEN"));
    check.uploadTemplate();
    check.createEhr();
    var stored = check.commitVersions();
    check.query(stored);
    check.commitContribution(stored);
    check.delete(stored);
    check.changeDirectory();
    System.out.println(
        "The SDK of EHRbase created an EHR, a template, versions, a contribution and a directory, and queried them.");
  }

  private void uploadTemplate() {
    client.templateEndpoint().ensureExistence(TEMPLATE);
    require(client.templateEndpoint().findTemplate(TEMPLATE).isPresent(), "the template is shown");
    require(!client.templateEndpoint().findAllTemplates().get().isEmpty(), "the template is listed");
  }

  private void createEhr() {
    ehr = client.ehrEndpoint().createEhr();
    var status = client.ehrEndpoint().getEhrStatus(ehr).orElseThrow();
    require(status.isQueryable(), "the status is shown");
    status.setModifiable(true);
    client.ehrEndpoint().updateEhrStatus(ehr, status);
    var uid = client.ehrEndpoint().getEhrStatus(ehr).orElseThrow().getUid().getValue();
    require(uid.endsWith("::2"), "the status has a further version");
  }

  private PressureComposition commitVersions() {
    var compositions = client.compositionEndpoint(ehr);
    var first = compositions.mergeCompositionEntity(create(142));
    require(first.getVersionUid().getValue().endsWith("::1"), "the first version is stored");
    first.getBloodPressure().get(0).setSystolicMagnitude(150.0);
    var second = compositions.mergeCompositionEntity(first);
    require(second.getVersionUid().getValue().endsWith("::2"), "the second version is stored");
    var found = compositions.find(idOf(second), PressureComposition.class).orElseThrow();
    require(found.getBloodPressure().get(0).getSystolicMagnitude() == 150, "the second version is shown");

    // This version of the SDK reads the history and versions in the form of a former EHRbase, not in that of ITS-REST.
    var versioned = client.versionedCompositionEndpoint(ehr).find(idOf(second));
    require(versioned.isPresent(), "the versioned object is shown");
return second;
  }

  private void query(PressureComposition stored) {
    NativeQuery<Record2<String, String>> query =
        Query.buildNativeQuery(
            "SELECT e/ehr_id/value, c/uid/value FROM EHR e[ehr_id/value='" + ehr + "'] CONTAINS COMPOSITION c",
            String.class,
            String.class);
    var rows = client.aqlEndpoint().execute(query);
    require(rows.size() == 1, "the query finds one composition");
    require(rows.get(0).value1().equals(ehr.toString()), "the query shows the EHR id");
    require(rows.get(0).value2().equals(stored.getVersionUid().getValue()), "the query shows the uid");
  }

  private void commitContribution(PressureComposition stored) throws Exception {
    var change = toComposition(create(160));
    var contribution =
        ContributionBuilder.builder(createAudit())
            .addCompositionCreation(toComposition(create(130)))
            .addCompositionModification(change, stored.getVersionUid().getValue())
            .build();
    var uid = client.contributionEndpoint(ehr).saveContribution(contribution);
    var found = client.contributionEndpoint(ehr).find(uid).orElseThrow();
    require(found.getVersions().size() == 2, "the contribution has two versions");
    var now = client.compositionEndpoint(ehr).findRaw(idOf(stored)).orElseThrow();
    stored.setVersionUid(new ObjectVersionId(now.getUid().getValue()));
    require(stored.getVersionUid().getValue().endsWith("::3"), "the contribution made a third version");
  }

  private void delete(PressureComposition stored) {
    client.compositionEndpoint(ehr).delete(stored.getVersionUid());
    require(client.compositionEndpoint(ehr).findRaw(idOf(stored)).isEmpty(), "the composition is deleted");
  }

  private void changeDirectory() {
    var directories = client.directoryCrudEndpoint(ehr);
    var root = new Folder();
    root.setName(new DvText("root"));
    root.setArchetypeNodeId("openEHR-EHR-FOLDER.generic.v1");
    var uid = directories.createDirectory(root);
    root.setUid(uid);
    root.setName(new DvText("changed"));
    require(directories.updateDirectory(root).getValue().endsWith("::2"), "the directory has a further version");
  }

  private static PressureComposition create(double systolic) {
    var at = OffsetDateTime.of(2026, 3, 1, 8, 30, 0, 0, ZoneOffset.UTC);
    var observation = new PressureObservation();
    observation.setOriginValue(at);
    observation.setTimeValue(at);
    observation.setSystolicMagnitude(systolic);
    observation.setSystolicUnits("mm[Hg]");
    observation.setDiastolicMagnitude(90.0);
    observation.setDiastolicUnits("mm[Hg]");
    observation.setSubject(new PartySelf());
    observation.setLanguage(Language.EN);
    var composition = new PressureComposition();
    composition.setStartTimeValue(at);
    composition.setSettingDefiningCode(Setting.HOME);
    composition.setBloodPressure(new ArrayList<>(List.of(observation)));
    composition.setComposer(new PartyIdentified(null, "Anna de Vries", null));
    composition.setLanguage(Language.EN);
    composition.setCategoryDefiningCode(Category.EVENT);
    composition.setTerritory(Territory.NL);
    return composition;
  }

  private Composition toComposition(PressureComposition entity) {
    return (Composition) new GeneratedDtoToRmConverter(templates).toRMObject(entity);
  }

  private static AuditDetails createAudit() {
    var audit = new AuditDetails();
    audit.setSystemId("sdk");
    audit.setCommitter(new PartyIdentified(null, "Anna de Vries", null));
    audit.setChangeType(new DvCodedText("creation", new CodePhrase(new TerminologyId("openehr"), "249")));
    return audit;
  }

  private static UUID idOf(PressureComposition composition) {
    return UUID.fromString(composition.getVersionUid().getObjectId().getValue());
  }

  private static Optional<OPERATIONALTEMPLATE> readTemplate(String id) {
    try {
      return Optional.of(TemplateDocument.Factory.parse(new File("made/pressure.opt")).getTemplate());
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private static void require(boolean isTrue, String what) {
    if (!isTrue) throw new IllegalStateException("Not true: " + what);
  }
}
