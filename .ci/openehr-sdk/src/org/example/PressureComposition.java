package org.example;

import com.nedap.archie.rm.archetyped.FeederAudit;
import com.nedap.archie.rm.generic.Participation;
import com.nedap.archie.rm.generic.PartyIdentified;
import com.nedap.archie.rm.generic.PartyProxy;
import com.nedap.archie.rm.support.identification.ObjectVersionId;
import java.time.temporal.TemporalAccessor;
import java.util.List;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Archetype;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Entity;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Id;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Path;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Template;
import org.ehrbase.openehr.sdk.generator.commons.interfaces.CompositionEntity;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Category;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Language;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Setting;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Territory;

/** A composition of the template, as the SDK's generator lays out such classes. */
@Entity
@Archetype("openEHR-EHR-COMPOSITION.encounter_of_tests.v1")
@Template("Pressure SDK")
public class PressureComposition implements CompositionEntity {
  @Path("/context/start_time|value")
  private TemporalAccessor startTimeValue;

  @Path("/context/end_time|value")
  private TemporalAccessor endTimeValue;

  @Path("/context/participations")
  private List<Participation> participations;

  @Path("/context/location")
  private String location;

  @Path("/context/health_care_facility")
  private PartyIdentified healthCareFacility;

  @Path("/context/setting|defining_code")
  private Setting settingDefiningCode;

  @Path("/content[openEHR-EHR-OBSERVATION.pressure_of_tests.v1]")
  private List<PressureObservation> bloodPressure;

  @Path("/composer")
  private PartyProxy composer;

  @Path("/language")
  private Language language;

  @Path("/feeder_audit")
  private FeederAudit feederAudit;

  @Path("/category|defining_code")
  private Category categoryDefiningCode;

  @Path("/territory")
  private Territory territory;

  @Id
  private ObjectVersionId versionUid;

  public TemporalAccessor getStartTimeValue() {
    return startTimeValue;
  }

  public void setStartTimeValue(TemporalAccessor startTimeValue) {
    this.startTimeValue = startTimeValue;
  }

  public TemporalAccessor getEndTimeValue() {
    return endTimeValue;
  }

  public void setEndTimeValue(TemporalAccessor endTimeValue) {
    this.endTimeValue = endTimeValue;
  }

  public List<Participation> getParticipations() {
    return participations;
  }

  public void setParticipations(List<Participation> participations) {
    this.participations = participations;
  }

  public String getLocation() {
    return location;
  }

  public void setLocation(String location) {
    this.location = location;
  }

  public PartyIdentified getHealthCareFacility() {
    return healthCareFacility;
  }

  public void setHealthCareFacility(PartyIdentified healthCareFacility) {
    this.healthCareFacility = healthCareFacility;
  }

  public Setting getSettingDefiningCode() {
    return settingDefiningCode;
  }

  public void setSettingDefiningCode(Setting settingDefiningCode) {
    this.settingDefiningCode = settingDefiningCode;
  }

  public List<PressureObservation> getBloodPressure() {
    return bloodPressure;
  }

  public void setBloodPressure(List<PressureObservation> bloodPressure) {
    this.bloodPressure = bloodPressure;
  }

  public PartyProxy getComposer() {
    return composer;
  }

  public void setComposer(PartyProxy composer) {
    this.composer = composer;
  }

  public Language getLanguage() {
    return language;
  }

  public void setLanguage(Language language) {
    this.language = language;
  }

  public FeederAudit getFeederAudit() {
    return feederAudit;
  }

  public void setFeederAudit(FeederAudit feederAudit) {
    this.feederAudit = feederAudit;
  }

  public Category getCategoryDefiningCode() {
    return categoryDefiningCode;
  }

  public void setCategoryDefiningCode(Category categoryDefiningCode) {
    this.categoryDefiningCode = categoryDefiningCode;
  }

  public Territory getTerritory() {
    return territory;
  }

  public void setTerritory(Territory territory) {
    this.territory = territory;
  }

  public ObjectVersionId getVersionUid() {
    return versionUid;
  }

  public void setVersionUid(ObjectVersionId versionUid) {
    this.versionUid = versionUid;
  }
}
